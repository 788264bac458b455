#pragma once
// How quiet the machine was during the runs that count, and what was declared to exclude.
#include <optional>
#include <string>
#include <vector>

#include "daemon/report/report.h"

namespace kab::report {

/// One condition over the runs of the figures, without warm-ups and checks.
struct ConditionSummary {
    std::string name;  ///< as in v_condition: steal, run-delay, host-load, canary, throttled
    int runs = 0;      ///< with a value
    int absent = 0;
    std::string reason;  ///< why absent; of the first
    /// Of a canary: by how much it was slower than the fastest of its block, as a share.
    std::optional<double> median, worst;
    std::string worst_arm;
    std::int64_t worst_block = 0, worst_seq = 0;
    std::optional<double> bound;  ///< that the spec declared; 0 for throttled
    double usual = 0;             ///< the bound that documentation proposes
    int above_usual = 0;          ///< runs
};

/// Those that any run has, in the order above. Empty where nothing was recorded.
std::vector<ConditionSummary> summarise_conditions(const ReportInput& report);

/// "7.30%", "0.5 tasks per CPU"; of a bound as well.
std::string condition_value(const std::string& name, double value);

/// Excluded tries of all blocks by cause, "steal 2, interrupted 1"; empty when there is none.
std::string excluded_by_cause(const ReportInput& report);

}  // namespace kab::report
