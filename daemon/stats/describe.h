#pragma once
// The parts of the output that are no tests of arms: summaries, variance components, failures.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/stats/cells.h"
#include "daemon/stats/components.h"

namespace kab::stats {

/// Values before any logarithm, and the mean of each cell's.
struct Observed {
    std::span<const double> values;  ///< all that the cells point to
    std::span<const double> means;   ///< one a cell
};

/// Appends a summary of each arm that has any finite value.
void add_summaries(int series, std::span<const Cell> cells, const Observed& observed, std::size_t arms,
                   std::vector<Summary>& out);

/// The boots of a series that can be used, as the components want them.
std::vector<BootValues> boots_of(const Cells& cells, int series);

std::vector<VarianceComponents> components_of(const Input& input, const Cells& cells, double cost_boot,
                                              double cost_iteration);

std::vector<ArmFailure> failures_of(const Input& input);

/// "tasks=4" or "workload/metric (tasks=4)".
std::string series_name(const Series& series);

}  // namespace kab::stats
