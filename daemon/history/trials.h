#pragma once
// Evaluations that can confirm or refute a change.
#include <vector>

#include "daemon/history/history.h"

namespace kab::history {

/// Every evaluation that ended after the change's first value and compares the kernels of its two sides (the last
/// value before, the first after) on the same metric, point and setting; by time.
std::vector<Trial> trials_of(const Series& series, const Change& change, const std::vector<Record>& records);

}  // namespace kab::history
