#include "daemon/stats/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/stats/distributions.h"
#include "daemon/stats/rank_distributions.h"
#include "daemon/stats/wide.h"

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

bool any_equal_neighbours(std::span<const double> ascending) {
    bool any = false;
    for (std::size_t i = 1; i < ascending.size(); ++i) any |= ascending[i - 1] == ascending[i];
    return any;
}

struct Sums {
    std::int64_t above = 0, zero = 0;
};

/// Of each negative with each positive: how many are above 0, and how many 0.
KAB_WIDE Sums count_sums(std::span<const double> negative, std::span<const double> positive) {
    const double* const others = positive.data();
    const std::size_t n = positive.size();
    std::int64_t above = 0, zero = 0;
    for (const double below : negative)
        for (std::size_t j = 0; j < n; ++j) {
            above += below + others[j] > 0 ? 1 : 0;
            zero += below + others[j] == 0 ? 1 : 0;
        }
    return {above, zero};
}

/// Twice the rank sum of the positive ones, where few are ranked and all sizes differ: it counts the pairs of
/// differences whose sum is above 0, each with itself included (Tukey). Without a jump that depends on the data.
std::optional<std::int64_t> rank_untied(std::span<const double> negative, std::span<const double> positive) {
    constexpr std::size_t few = 64;
    if (negative.size() + positive.size() > few) return std::nullopt;
    if (any_equal_neighbours(negative) || any_equal_neighbours(positive)) return std::nullopt;
    const Sums sums = count_sums(negative, positive);
    if (sums.zero > 0) return std::nullopt;
    const auto n = static_cast<std::int64_t>(positive.size());
    return n * (n + 1) + 2 * sums.above;
}

SignedRanks rank(std::span<const double> negative, std::span<const double> positive) {
    SignedRanks result;
    if (const auto untied = rank_untied(negative, positive)) {
        result.twice_w = *untied;
        return result;
    }
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
