#include "daemon/stats/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "daemon/stats/distributions.h"
#include "daemon/stats/midranks.h"
#include "daemon/stats/rank_distributions.h"

namespace kab::stats {
namespace {

void asymptotic(SignedRank& result, const Midranks& ranks) {
    const auto n = static_cast<double>(result.n);
    const double variance = n * (n + 1) * (2 * n + 1) / 24 - ranks.tie_term() / 48;
    const double centre = n * (n + 1) / 4, root = std::sqrt(variance);
    result.upper = normal_upper((result.w - centre - 0.5) / root);
    result.lower = normal_upper((centre - result.w - 0.5) / root);
}

}  // namespace

SignedRank signed_rank(std::span<const double> differences) {
    SignedRank result;
    std::vector<double> sizes;
    std::vector<bool> positive;
    for (const double d : differences) {
        if (d == 0) continue;
        sizes.push_back(std::abs(d));
        positive.push_back(d > 0);
    }
    result.n = static_cast<int>(sizes.size());
    if (sizes.empty()) return result;
    const Midranks ranks = midranks(sizes);
    std::int64_t twice = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (positive[i]) twice += ranks.twice[i];
    result.w = static_cast<double>(twice) / 2;
    if (result.n > exact_signed_rank_n) {
        asymptotic(result, ranks);
    } else {
        result.exact = true;
        if (ranks.tied) {
            const Tails tails = tied_signed_rank_tails(ranks.twice, twice);
            result.lower = tails.lower;
            result.upper = tails.upper;
        } else {
            const auto& cumulative = signed_rank_cumulative(result.n);
            const auto w = static_cast<std::size_t>(twice / 2);
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
