#pragma once
// The parts of the output that are no tests of arms: summaries, variance components, failures, warnings.
#include <string>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/stats/cells.h"
#include "daemon/stats/components.h"

namespace kab::stats {

/// Per arm and series with any finite value, series by series.
std::vector<Summary> summaries(const Input& input, const Cells& cells);

/// The boots of a series that can be used, as the components want them.
std::vector<BootValues> boots_of(const Cells& cells, int series);

std::vector<VarianceComponents> components_of(const Input& input, const Cells& cells, double cost_boot,
                                              double cost_iteration, std::vector<std::string>& warnings);

std::vector<ArmFailure> failures_of(const Input& input, std::vector<std::string>& warnings);

/// Blocks that lack a boot of an arm, series that lack values, values that are no numbers.
void warn_of_missing(const Input& input, const Cells& cells, std::vector<std::string>& warnings);

/// "tasks=4" or "workload/metric (tasks=4)".
std::string series_name(const Series& series);

}  // namespace kab::stats
