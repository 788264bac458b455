#pragma once
// Exact null distributions of rank statistics, by counting.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kab::stats {

struct Tails {
    double lower = 1, upper = 1;  ///< P(statistic <= seen), P(statistic >= seen)
};

/// P(U <= u) for u = 0..m*n without ties: the coefficients of the Gaussian binomial. m, n <= 500.
std::vector<double> rank_sum_cumulative(int m, int n);

/// Tails of the sum of `chosen` of the given (doubled) midranks, all choices alike, at `seen` (doubled).
Tails tied_rank_sum_tails(std::span<const std::int64_t> twice_ranks, std::size_t chosen, std::int64_t seen);

/// P(W <= w) for w = 0..n(n+1)/2 of the signed-rank statistic without ties. n <= 200. Kept for the thread.
const std::vector<double>& signed_rank_cumulative(int n);

/// Tails of the sum of those of the given (doubled) midranks that a fair coin picks, at `seen` (doubled).
Tails tied_signed_rank_tails(std::span<const std::int64_t> twice_ranks, std::int64_t seen);

}  // namespace kab::stats
