#include "daemon/spec/experiment.h"

namespace kab {

std::vector<Parameters> WorkloadSpec::points() const {
    std::vector<Parameters> points{with};
    for (const auto& [name, values] : sweep) {
        std::vector<Parameters> next;
        next.reserve(points.size() * values.size());
        for (const Parameters& point : points) {
            for (const std::int64_t value : values) {
                next.push_back(point);
                next.back()[name] = value;
            }
        }
        points = std::move(next);
    }
    return points;
}

}  // namespace kab
