#pragma once
// What `kab history` says. Pure.
#include <string>
#include <vector>

#include "common/result.h"
#include "daemon/history/history.h"

namespace kab::cli {

/// Series by series: a table with its changes marked, and what is known of each. Tables are as wide as they come, all
/// other lines at most `width`.
std::string history_text(const std::vector<history::History>& histories, std::size_t width);

/// One object, ends with a newline: docs/history.md.
std::string history_json(const std::string& experiment, const std::vector<history::History>& histories);

/// The experiment that would confirm a change: the two kernels of the arm, or where only the baseline's changed of the
/// baseline, before and after, on the workload and machine of `record` (the evaluation after the change). YAML.
/// Fault::usage when both sides booted the same kernels or their images are not known.
Result<std::string> confirming_experiment(const history::Series& series, const history::Change& change,
                                          const history::Record& record);

/// The command that prints it.
std::string confirming_command(const history::Series& series, const history::Change& change);

// ---- shared by them ----

/// From the scale of the analysis: a ratio, or a difference in the metric's unit.
double natural(Scale scale, double value);
const char* to_string(history::Change::State state);

}  // namespace kab::cli
