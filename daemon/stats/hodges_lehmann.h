#pragma once
// Hodges-Lehmann estimates with the intervals that belong to the rank tests (Hollander, Wolfe, Chicken:
// Nonparametric Statistical Methods, sections 3.2-3.3 and 4.2-4.3).
#include <cstdint>
#include <span>
#include <vector>

namespace kab::stats {

struct HodgesLehmann {
    double estimate = 0, low = 0, high = 0;
    double level = 0;  ///< confidence really reached; less than asked where n is too small for it
};

/// Median of the Walsh averages of the differences, interval from the signed-rank distribution (exact to
/// n = 100 as if untied, then the normal approximation). The level is the least attainable one that is
/// at least `level`, else the widest interval there is. Empty: all 0. NaN where a difference
/// is beyond the largest double.
HodgesLehmann hodges_lehmann(std::span<const double> differences, double level = 0.95);
/// The same of differences that are in ascending order already.
HodgesLehmann hodges_lehmann_ascending(std::span<const double> differences, double level = 0.95);

/// Median of all x - y, interval from the rank-sum distribution (exact to 50 a side).
HodgesLehmann hodges_lehmann_shift(std::span<const double> x, std::span<const double> y, double level = 0.95);

}  // namespace kab::stats
