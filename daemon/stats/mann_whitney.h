#pragma once
// The Mann-Whitney (Wilcoxon rank sum) test of two independent samples.
#include <cstddef>
#include <span>

namespace kab::stats {

struct MannWhitney {
    double u = 0;  ///< pairs with x > y, ties as one half
    double p = 1;  ///< two-sided
    /// One-sided: of a U as small, or as large, as this one.
    double lower = 1, upper = 1;
    bool exact = false;  ///< from the permutation distribution of the (mid)ranks; else asymptotic
    bool tied = false;
};

/// Largest sample for which the exact distribution is used with ties in the data.
inline constexpr int exact_mann_whitney_side = 50;

/// Exact while both sides have at most 50 values (the distribution of the midranks as they are, by
/// counting; Streitberg and Roehmel, Comput. Statist. Quart. 2, 1986), beyond that asymptotic with tie
/// and continuity corrections. Two-sided p: twice the smaller tail, at most 1. Values finite.
MannWhitney mann_whitney(std::span<const double> x, std::span<const double> y);

/// The least two-sided p that mann_whitney() can give samples of these sizes without ties: all of one beyond the other.
double least_mann_whitney_p(std::size_t m, std::size_t n);

/// The normal approximation (Mann and Whitney, Ann. Math. Statist. 18, 1947) with tie correction.
MannWhitney mann_whitney_asymptotic(std::span<const double> x, std::span<const double> y, bool continuity = true);

}  // namespace kab::stats
