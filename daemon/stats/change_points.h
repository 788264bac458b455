#pragma once
// Where a series of nightly results changes. E-divisive: D. S. Matteson, N. A. James, A Nonparametric Approach for
// Multiple Change Point Analysis of Multivariate Data, J. Amer. Statist. Assoc. 109 (2014), with exponent 1.
//
// Give it the paired log-ratios (each night's change against the fixed baseline booted in the same blocks), never
// the raw values of different nights. A change found here is a suspicion: a fresh A/B must confirm it.
#include <cstdint>
#include <span>
#include <vector>

namespace kab::stats {

struct ChangePointOptions {
    int least_segment = 3;  ///< values on either side of a change; at least 2
    double alpha = 0.01;    ///< of each permutation test: an alarm costs a fresh A/B
    int permutations = 999;
    std::uint64_t seed = 1;  ///< of the permutations: the same arguments give the same answer
};

struct ChangePoint {
    int index = 0;  ///< of the first value after the change
    double q = 0;   ///< scaled energy distance of the values before and after, within their segment
    double p = 1;   ///< of the permutation test, (1 + as large or larger) / (1 + permutations drawn)
};

/// In the order in which they were found, the clearest first. Empty when any value is not finite.
/// Time grows with permutations x length^2.
std::vector<ChangePoint> change_points(std::span<const double> series, const ChangePointOptions& options = {});

}  // namespace kab::stats
