#pragma once
// Exact mode: the same kernel under the same seed gives the same values, or exact mode does not hold.
#include <optional>
#include <string>

#include "daemon/stats/input.h"

namespace kab::stats {

/// The first value of a control that is not that of the arm it is judged against in the same block and iteration, both
/// figures in one sentence; nullopt when all are the same. A value that only one of the two has counts as another.
std::optional<std::string> inexact_control(const Input& input);

}  // namespace kab::stats
