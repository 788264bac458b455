#pragma once
// Sums that do not depend on the machine: always the same order, always compensated.
#include <cstddef>
#include <span>

namespace kab::stats {

/// Neumaier's compensated sum of the values (Z. angew. Math. Mech. 54, 1974), in an order that depends on their number
/// only.
double sum(std::span<const double> values);

struct Moments {
    std::size_t n = 0;
    double mean = 0;      ///< 0 when n == 0
    double variance = 0;  ///< with n - 1; 0 when n < 2
};

/// Mean and variance in two passes. Values whose plain sum overflows are scaled first; the variance
/// may still be infinite, the mean never is for finite values.
Moments moments(std::span<const double> values);

double mean(std::span<const double> values);

/// The mean of each row of a table, to the last bit that of mean(row), but several rows at a time. `to` has one place a
/// row; the rows are `width` (at least 1) values long.
void row_means(std::span<const double> table, std::size_t width, std::span<double> to);

/// Of a copy, interpolated between order statistics (R's type 7: Hyndman and Fan, Amer. Statistician 50, 1996);
/// 0 <= q <= 1. 0 when empty.
double quantile(std::span<const double> values, double q);

/// Of a copy; the mean of the two middle values when n is even. 0 when empty.
double median(std::span<const double> values);

}  // namespace kab::stats
