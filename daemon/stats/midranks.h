#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kab::stats {

struct Midranks {
    std::vector<std::int64_t> twice;  ///< 2 x rank of each value, in the order given: whole also for ties
    std::vector<std::int64_t> ties;   ///< sizes of the groups of equal values, ascending by value
    bool tied = false;

    /// Sum of size^3 - size over the groups: the tie correction of the asymptotic variances.
    double tie_term() const;
};

/// Ranks from 1; equal values share the mean of their ranks. Values finite.
Midranks midranks(std::span<const double> values);

}  // namespace kab::stats
