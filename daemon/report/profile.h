#pragma once
// Where the CPUs were, arm beside arm: shares of the samples of the profiled runs, symbol by symbol.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/report/document.h"
#include "daemon/report/report.h"

namespace kab::report {

/// Of a share, from the arm that an arm is judged against: over the blocks in which both were profiled.
struct ShareDifference {
    int n = 0;                        ///< blocks
    double value = 0;                 ///< mean of the blocks' differences
    std::optional<double> low, high;  ///< Student's t, for this row alone and as if this were the only look; n > 1
    /// Two-sided; absent without variation. Adjusted by Benjamini and Hochberg over the rows of the arm at the point.
    std::optional<double> p, p_adjusted;
};

/// Arm of the analysis and block.
using ProfiledBoot = std::pair<int, std::int64_t>;

struct ProfileLine {
    std::string symbol;
    std::string caller;  ///< empty: whoever called it
    /// By arm of the analysis: the mean over its profiled boots, each of which counts alike; one without the symbol is
    /// 0. Absent for an arm without a profile.
    std::vector<std::optional<double>> share;
    std::vector<std::optional<ShareDifference>> difference;  ///< by arm; absent for a baseline
    std::map<ProfiledBoot, double> boots;                    ///< every profiled one
};

struct PointProfile {
    std::string workload, point;
    std::vector<int> boots;  ///< profiled ones, by arm
    /// Those with `least_share` or more in an arm that is no control, the largest first; each before what it is made
    /// of, by caller.
    std::vector<ProfileLine> lines;
};

inline constexpr double least_share = 0.001;

/// Of the blocks that the report's look has; in the order of the plan, points without any profile left out.
std::vector<PointProfile> profiles(const ReportInput& report);

/// The profiles of a workload and, for each arm, how they differ. Empty without any.
std::vector<Table> profile_tables(const ReportInput& report, const std::string& workload);

}  // namespace kab::report
