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

double asymptotic_p(const Ranked& ranked, double m, double n, bool continuity) {
    const double all = m + n;
    const double variance = m * n / 12 * ((all + 1) - ranked.ranks.tie_term() / (all * (all - 1)));
    if (!(variance > 0)) return 1;
    double off = std::abs(ranked.u - m * n / 2);
    if (continuity) off = std::max(0.0, off - 0.5);
    return std::min(1.0, 2 * normal_upper(off / std::sqrt(variance)));
}

}  // namespace

MannWhitney mann_whitney_asymptotic(std::span<const double> x, std::span<const double> y, bool continuity) {
    MannWhitney result;
    if (x.empty() || y.empty()) return result;
    const Ranked ranked = rank_all(x, y);
    result.u = ranked.u;
    result.tied = ranked.ranks.tied;
    result.p = asymptotic_p(ranked, static_cast<double>(x.size()), static_cast<double>(y.size()), continuity);
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
        result.p = std::min(1.0, 2 * cumulative[std::min(u, x.size() * y.size() - u)]);
        return result;
    }
    const Tails tails = tied_rank_sum_tails(ranked.ranks.twice, x.size(), ranked.twice_sum_x);
    result.p = std::min(1.0, 2 * std::min(tails.lower, tails.upper));
    return result;
}

}  // namespace kab::stats
