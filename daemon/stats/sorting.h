#pragma once
// Sorting a few numbers, as every comparison does.
#include <span>

namespace kab::stats {

/// Ascending, as std::sort does; at most 64 values in half its time. None may be NaN.
void sort_ascending(std::span<double> values);

}  // namespace kab::stats
