#pragma once
// Bootstrap intervals of a mean (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 13, 14).
#include <cstdint>
#include <span>

#include "daemon/stats/paired.h"

namespace kab::stats {

struct BootstrapIntervals {
    Interval percentile, bca;
};

/// Resamples with SplitMix64 from `seed`: the same arguments give the same interval everywhere. At least
/// two values that are not all equal, else both intervals are the mean alone.
BootstrapIntervals bootstrap_mean(std::span<const double> values, int resamples, std::uint64_t seed,
                                  double level = 0.95);

}  // namespace kab::stats
