#include "daemon/report/derived.h"

#include <cmath>

namespace kab::report {
namespace {

const DerivedLine lines[] = {
    {"CPUs utilized", "task-clock", "counted-elapsed"},
    {"instructions / cycle", "instructions", "cycles"},
    {"front-end stalls / cycle", "stalled-cycles-frontend", "cycles"},
    {"back-end stalls / cycle", "stalled-cycles-backend", "cycles"},
    {"misses / branch", "branch-misses", "branches"},
    {"misses / reference", "cache-misses", "cache-references"},
};

}  // namespace

Derived::Derived(const ReportInput& report) {
    const int look = report.input.look;
    const auto& looks = report.input.design.looks;
    for (const auto& sample : report.samples) {
        if (sample.kind != "counted" || sample.warmup || !sample.value || !std::isfinite(*sample.value)) continue;
        if (look >= 0 && sample.block > looks[static_cast<std::size_t>(look)]) continue;
        values_[{sample.workload, sample.point, sample.arm, sample.metric}][{sample.block, sample.iteration}] =
            *sample.value;
    }
}

std::vector<DerivedLine> Derived::after(const std::string& metric) const {
    std::vector<DerivedLine> found;
    for (const auto& line : lines)
        if (line.over == metric) found.push_back(line);
    return found;
}

std::optional<DerivedValue> Derived::value(const DerivedLine& line, const std::string& workload,
                                           const std::string& point, const std::string& arm) const {
    const auto over = values_.find({workload, point, arm, line.over});
    const auto under = values_.find({workload, point, arm, line.under});
    if (over == values_.end() || under == values_.end()) return std::nullopt;
    std::map<std::int64_t, std::pair<double, int>> boots;  // block -> sum, runs
    for (const auto& [run, value] : over->second) {
        const auto other = under->second.find(run);
        if (other == under->second.end() || !(other->second > 0)) continue;
        auto& [sum, count] = boots[run.first];
        sum += value / other->second;
        ++count;
    }
    if (boots.empty()) return std::nullopt;
    DerivedValue result;
    for (const auto& [block, boot] : boots) result.mean += boot.first / boot.second;
    result.mean /= static_cast<double>(boots.size());
    double squares = 0;
    for (const auto& [block, boot] : boots) squares += std::pow(boot.first / boot.second - result.mean, 2);
    const double relative = std::sqrt(squares / static_cast<double>(boots.size() - 1)) / result.mean;
    if (boots.size() > 1 && result.mean > 0 && std::isfinite(relative)) result.relative_sd = relative;
    if (!std::isfinite(result.mean)) return std::nullopt;  // values too far apart for a quotient
    return result;
}

}  // namespace kab::report
