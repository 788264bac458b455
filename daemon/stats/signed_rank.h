#pragma once
// Wilcoxon's signed-rank test on the differences of pairs.
#include <span>

namespace kab::stats {

struct SignedRank {
    int n = 0;           ///< differences that are not zero
    double w = 0;        ///< sum of the ranks of the positive ones
    double p = 1;        ///< two-sided: twice the smaller tail, at most 1
    double lower = 1;    ///< P(W <= w)
    double upper = 1;    ///< P(W >= w)
    bool exact = false;  ///< from the distribution of the midranks as they are; else asymptotic
};

/// Largest number of non-zero differences for which the exact distribution is used.
inline constexpr int exact_signed_rank_n = 200;

/// Zero differences are left out (Wilcoxon, Biometrics 1, 1945); tied sizes get midranks and the exact
/// distribution of these. Beyond exact_signed_rank_n the normal approximation with tie and continuity
/// corrections. Values finite.
SignedRank signed_rank(std::span<const double> differences);
/// The same of differences that are in ascending order already.
SignedRank signed_rank_ascending(std::span<const double> differences);

/// The least two-sided p that n non-zero differences can give: 2^(1-n).
double least_signed_rank_p(int n);

}  // namespace kab::stats
