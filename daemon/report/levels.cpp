#include "daemon/report/levels.h"

#include <cmath>
#include <limits>

#include "daemon/report/compose.h"
#include "daemon/stats/pairs.h"

namespace kab::report {

std::optional<Level> Levels::of(const stats::Comparison& comparison) const {
    if (comparison.series < 0 || !comparison.estimate) return std::nullopt;
    const auto pairs =
        stats::pair_up(cells_, comparison.series, comparison.arm, comparison.against, std::numeric_limits<int>::max());
    if (pairs.d.empty()) return std::nullopt;
    const double effect = comparison.estimate->value;
    Level level;
    if (series_of(report_, comparison).scale == Scale::log) {
        level.before = std::exp(pairs.against_mean);
        level.after = level.before * effect;
    } else {
        level.before = pairs.against_mean;
        level.after = level.before + effect;
    }
    if (!std::isfinite(level.before) || !std::isfinite(level.after)) return std::nullopt;
    return level;
}

}  // namespace kab::report
