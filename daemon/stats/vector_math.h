#pragma once
// Logarithms and exponentials of whole arrays, several times as fast as one by one and the same to the last bit on
// every machine: plain arithmetic of IEEE doubles in a fixed order, without fused operations and without the C library.
#include <span>

namespace kab::stats {

/// to[i] = natural logarithm of from[i], which must be a normal, finite, positive number; others give nonsense, but no
/// fault. Off by less than 1 unit in the last place. `to` is as long as `from` and the same or apart.
void log_all(std::span<const double> from, std::span<double> to);

/// Each value by its exponential, off by less than 2 units in the last place; for values up to 700. Below -700 the
/// result is that of -700 (1e-304), which is as good as 0 where densities are summed.
void exp_all(std::span<double> values);

}  // namespace kab::stats
