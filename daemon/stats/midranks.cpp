#include "daemon/stats/midranks.h"

#include <algorithm>
#include <numeric>

namespace kab::stats {

double Midranks::tie_term() const {
    double total = 0;
    for (const auto size : ties) {
        const auto s = static_cast<double>(size);
        total += s * s * s - s;
    }
    return total;
}

Midranks midranks(std::span<const double> values) {
    Midranks result;
    result.twice.resize(values.size());
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin + 1;
        while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
        // Ranks begin+1 .. end have the mean (begin + 1 + end) / 2.
        for (std::size_t i = begin; i < end; ++i) result.twice[order[i]] = static_cast<std::int64_t>(begin + 1 + end);
        result.ties.push_back(static_cast<std::int64_t>(end - begin));
        result.tied |= end - begin > 1;
        begin = end;
    }
    return result;
}

}  // namespace kab::stats
