#pragma once
// The computing half of an analysis, for those who read no words.
#include "daemon/stats/analysis.h"

namespace kab::stats {

/// What analyse() gives, without sentences and warnings; all else is the same.
Output figures(const Input& input, double cost_boot_ns = 0, double cost_iteration_ns = 0);

}  // namespace kab::stats
