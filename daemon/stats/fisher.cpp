#include "daemon/stats/fisher.h"

#include <algorithm>
#include <cmath>

#include "daemon/stats/distributions.h"

namespace kab::stats {

double fisher_exact(std::int64_t failed_a, std::int64_t all_a, std::int64_t failed_b, std::int64_t all_b) {
    if (all_a <= 0 || all_b <= 0) return 1;
    const std::int64_t failed = failed_a + failed_b;
    const std::int64_t low = std::max<std::int64_t>(0, failed - all_b), high = std::min(failed, all_a);
    const auto log_weight = [&](std::int64_t k) {
        return log_choose(static_cast<double>(all_a), static_cast<double>(k)) +
               log_choose(static_cast<double>(all_b), static_cast<double>(failed - k));
    };
    // Weights relative to the seen table: its own share cancels in the quotient.
    const double seen = log_weight(failed_a);
    double all = 0, as_rare = 0;
    for (std::int64_t k = low; k <= high; ++k) {
        const double weight = std::exp(log_weight(k) - seen);
        all += weight;
        if (weight <= 1 + 1e-7) as_rare += weight;
    }
    return std::isfinite(all) ? std::min(1.0, as_rare / all) : 0;
}

}  // namespace kab::stats
