#pragma once
// What only shows when comparisons are seen together.
#include <string>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/stats/compare.h"

namespace kab::stats {

/// Metrics of one arm that move materially in opposite directions: every such pair with a primary in it;
/// where no primary moves, the one pair with the largest |t| on either side. Sweeps count by their mean.
std::vector<Trade> trades_of(const std::vector<Comparison>& comparisons);

/// Sweeps with points that improved and points that regressed.
void warn_of_opposite_points(const std::vector<Measured>& rows, const std::vector<ArmInfo>& arms,
                             std::vector<std::string>& warnings);

}  // namespace kab::stats
