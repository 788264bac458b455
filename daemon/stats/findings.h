#pragma once
// What only shows when comparisons are seen together.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/stats/compare.h"

namespace kab::stats {

/// Metrics of one arm that move materially in opposite directions: every such pair with a primary in it;
/// where no primary moves, the one pair with the largest |t| on either side. Sweeps count by their mean; after these
/// come the pairs at single points of the primary's sweep, of metrics that are no trade by their means.
std::vector<Trade> trades_of(const std::vector<Comparison>& comparisons, const std::vector<Series>& series);

/// Sweeps with points that improved and points that regressed.
void warn_of_opposite_points(const std::vector<Measured>& rows, const std::vector<ArmInfo>& arms,
                             std::vector<std::string>& warnings);

/// Points and blocks that the means over points are without: told once for all metrics that lack the same.
class SweepGaps {
  public:
    void add(const std::string& workload, const std::string& metric, const std::string& arm,
             const std::vector<std::string>& points, const std::vector<int>& blocks);
    void warn(std::vector<std::string>& warnings) const;

  private:
    /// arm, workload, what is left out and why -> metrics
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>> gaps_;
};

}  // namespace kab::stats
