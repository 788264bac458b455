#pragma once
// What the reader of an analysis should know besides its figures.
#include <string>
#include <vector>

#include "daemon/stats/workings.h"

namespace kab::stats {

/// In the order in which they are shown: the design, sweeps, gaps, trends within boots, failed boots.
std::vector<std::string> warnings_of(const Input& input, const Workings& workings);

}  // namespace kab::stats
