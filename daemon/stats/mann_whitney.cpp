#include "daemon/stats/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "daemon/stats/distributions.h"
#include "daemon/stats/midranks.h"
#include "daemon/stats/rank_distributions.h"

namespace kab::stats {
namespace {

struct Ranked {
    Midranks ranks;
    std::int64_t twice_sum_x = 0;
    double u = 0;
};

Ranked rank_all(std::span<const double> x, std::span<const double> y) {
    std::vector<double> all(x.begin(), x.end());
    all.insert(all.end(), y.begin(), y.end());
    Ranked result;
    result.ranks = midranks(all);
    for (std::size_t i = 0; i < x.size(); ++i) result.twice_sum_x += result.ranks.twice[i];
    const auto n = static_cast<double>(x.size());
    result.u = static_cast<double>(result.twice_sum_x) / 2 - n * (n + 1) / 2;
    return result;
}

double variance_of_u(double m, double n, double tie_term) {
    const double all = m + n;
    return m * n / 12 * ((all + 1) - tie_term / (all * (all - 1)));
}

void asymptotic_p(MannWhitney& result, double m, double n, double tie_term, bool continuity) {
    const double variance = variance_of_u(m, n, tie_term);
    if (!(variance > 0)) return;
    const double off = result.u - m * n / 2, half = continuity ? 0.5 : 0, sd = std::sqrt(variance);
    result.p = std::min(1.0, 2 * normal_upper(std::max(0.0, std::abs(off) - half) / sd));
    result.upper = normal_upper((off - half) / sd);
    result.lower = normal_upper((-off - half) / sd);
}

}  // namespace

MannWhitney mann_whitney_asymptotic(std::span<const double> x, std::span<const double> y, bool continuity) {
    MannWhitney result;
    if (x.empty() || y.empty()) return result;
    const Ranked ranked = rank_all(x, y);
    result.u = ranked.u;
    result.tied = ranked.ranks.tied;
    asymptotic_p(result, static_cast<double>(x.size()), static_cast<double>(y.size()), ranked.ranks.tie_term(),
                 continuity);
    return result;
}

MannWhitney mann_whitney(std::span<const double> x, std::span<const double> y) {
    if (x.empty() || y.empty()) return {};
    if (std::max(x.size(), y.size()) > exact_mann_whitney_side) return mann_whitney_asymptotic(x, y);
    MannWhitney result;
    const Ranked ranked = rank_all(x, y);
    result.u = ranked.u;
    result.tied = ranked.ranks.tied;
    result.exact = true;
    if (!result.tied) {
        const auto cumulative = rank_sum_cumulative(static_cast<int>(x.size()), static_cast<int>(y.size()));
        // Symmetric without ties: the lower tail of the smaller U is the smaller tail.
        const auto u = static_cast<std::size_t>(ranked.u);
        result.lower = cumulative[u];
        result.upper = cumulative[x.size() * y.size() - u];
        result.p = std::min(1.0, 2 * std::min(result.lower, result.upper));
        return result;
    }
    const Tails tails = tied_rank_sum_tails(ranked.ranks.twice, x.size(), ranked.twice_sum_x);
    result.lower = tails.lower;
    result.upper = tails.upper;
    result.p = std::min(1.0, 2 * std::min(tails.lower, tails.upper));
    return result;
}

double least_mann_whitney_p(std::size_t m, std::size_t n) {
    if (m == 0 || n == 0) return 1;
    const auto a = static_cast<double>(m), b = static_cast<double>(n);
    if (std::max(m, n) <= exact_mann_whitney_side) return std::min(1.0, 2 * std::exp(-log_choose(a + b, a)));
    MannWhitney apart;
    asymptotic_p(apart, a, b, 0, true);  // at a U of 0
    return apart.p;
}

}  // namespace kab::stats
