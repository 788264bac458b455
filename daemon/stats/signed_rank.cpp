#include "daemon/stats/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "daemon/stats/distributions.h"
#include "daemon/stats/rank_distributions.h"

namespace kab::stats {
namespace {

void asymptotic(SignedRank& result, double tie_term) {
    const auto n = static_cast<double>(result.n);
    const double variance = n * (n + 1) * (2 * n + 1) / 24 - tie_term / 48;
    const double centre = n * (n + 1) / 4, root = std::sqrt(variance);
    result.upper = normal_upper((result.w - centre - 0.5) / root);
    result.lower = normal_upper((centre - result.w - 0.5) / root);
}

/// Midranks of the sizes of ascending differences: those below 0 backwards and those above 0 are two ascending lists of
/// sizes, which are merged.
struct SignedRanks {
    std::int64_t twice_w = 0;  ///< of the positive ones
    bool tied = false;
    double tie_term = 0;              ///< see Midranks
    std::vector<std::int64_t> twice;  ///< all ranks, ascending; filled only with ties
};

SignedRanks rank(std::span<const double> negative, std::span<const double> positive) {
    SignedRanks result;
    std::size_t i = negative.size(), j = 0;
    std::int64_t ranked = 0;
    const auto all = static_cast<std::int64_t>(negative.size() + positive.size());
    while (ranked < all) {
        const bool from_positive = i == 0 || (j < positive.size() && positive[j] < -negative[i - 1]);
        const double size = from_positive ? positive[j] : -negative[i - 1];
        std::int64_t equal = 0, equal_positive = 0;
        for (; j < positive.size() && positive[j] == size; ++j) ++equal_positive;
        for (; i > 0 && -negative[i - 1] == size; --i) ++equal;
        equal += equal_positive;
        // Ranks ranked + 1 .. ranked + equal have the mean ranked + (1 + equal) / 2.
        const std::int64_t twice = 2 * ranked + 1 + equal;
        result.twice_w += equal_positive * twice;
        if (equal > 1 && !result.tied) {
            result.tied = true;
            for (std::int64_t r = 1; r <= ranked; ++r) result.twice.push_back(2 * r);
        }
        if (result.tied) result.twice.insert(result.twice.end(), static_cast<std::size_t>(equal), twice);
        const auto s = static_cast<double>(equal);
        result.tie_term += s * s * s - s;
        ranked += equal;
    }
    return result;
}

}  // namespace

SignedRank signed_rank(std::span<const double> differences) {
    std::vector<double> sorted(differences.begin(), differences.end());
    std::sort(sorted.begin(), sorted.end());
    return signed_rank_ascending(sorted);
}

SignedRank signed_rank_ascending(std::span<const double> differences) {
    SignedRank result;
    const auto [below, above] = std::equal_range(differences.begin(), differences.end(), 0.0);
    const std::span negative(differences.begin(), below), positive(above, differences.end());
    result.n = static_cast<int>(negative.size() + positive.size());
    if (result.n == 0) return result;
    const SignedRanks ranks = rank(negative, positive);
    result.w = static_cast<double>(ranks.twice_w) / 2;
    if (result.n > exact_signed_rank_n) {
        asymptotic(result, ranks.tie_term);
    } else {
        result.exact = true;
        if (ranks.tied) {
            const Tails tails = tied_signed_rank_tails(ranks.twice, ranks.twice_w);
            result.lower = tails.lower;
            result.upper = tails.upper;
        } else {
            const auto& cumulative = signed_rank_cumulative(result.n);
            const auto w = static_cast<std::size_t>(ranks.twice_w / 2);
            result.lower = cumulative[w];
            result.upper = cumulative[cumulative.size() - 1 - w];  // symmetric
        }
    }
    result.p = std::min(1.0, 2 * std::min(result.lower, result.upper));
    return result;
}

double least_signed_rank_p(int n) {
    return n < 1 ? 1 : std::ldexp(1.0, 1 - n);
}

}  // namespace kab::stats
