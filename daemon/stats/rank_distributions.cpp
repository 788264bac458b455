#include "daemon/stats/rank_distributions.h"

#include <algorithm>
#include <numeric>

namespace kab::stats {
namespace {

void accumulate_to_probabilities(std::vector<double>& counts) {
    const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
    double below = 0;
    for (auto& count : counts) {
        below += count;
        count = std::min(1.0, below / all);
    }
}

Tails tails_at(std::span<const double> counts, std::int64_t seen) {
    double below = 0, at = 0, above = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto value = static_cast<std::int64_t>(i);
        (value < seen ? below : value == seen ? at : above) += counts[i];
    }
    const double all = below + at + above;
    return {(below + at) / all, (above + at) / all};
}

}  // namespace

std::vector<double> rank_sum_cumulative(int m, int n) {
    // prod over i = 1..m of (1 - q^(n+i)) / (1 - q^i), one factor at a time; all counts stay whole and
    // below 2^53 times a few roundings, so the probabilities are good to about 1e-13.
    const auto top = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
    std::vector<double> counts(top + 1, 0.0);
    counts[0] = 1;
    for (int i = 1; i <= m; ++i) {
        const auto add = static_cast<std::size_t>(i), remove = static_cast<std::size_t>(n + i);
        for (std::size_t u = top + 1; u-- > remove;) counts[u] -= counts[u - remove];
        for (std::size_t u = add; u <= top; ++u) counts[u] += counts[u - add];
    }
    // Symmetric: the lower half is the one with the smaller rounding errors.
    for (std::size_t u = 0; u <= top / 2; ++u) counts[top - u] = counts[u];
    accumulate_to_probabilities(counts);
    return counts;
}

Tails tied_rank_sum_tails(std::span<const std::int64_t> twice_ranks, std::size_t chosen, std::int64_t seen) {
    if (chosen == 0 || chosen > twice_ranks.size()) return {};
    // Sums relative to the least rank, and halved where all ranks are whole: a smaller table.
    std::vector<std::int64_t> ranks(twice_ranks.begin(), twice_ranks.end());
    std::sort(ranks.begin(), ranks.end());
    const std::int64_t least = ranks.front();
    for (auto& rank : ranks) rank -= least;
    std::int64_t target = seen - least * static_cast<std::int64_t>(chosen);
    if (std::all_of(ranks.begin(), ranks.end(), [](std::int64_t r) { return r % 2 == 0; })) {
        for (auto& rank : ranks) rank /= 2;
        target /= 2;
    }
    const std::size_t all = ranks.size();
    const auto top = static_cast<std::size_t>(
        std::accumulate(ranks.end() - static_cast<std::ptrdiff_t>(chosen), ranks.end(), std::int64_t{0}));
    const std::size_t width = top + 1;
    // ways[k * width + s]: ways to choose k of the ranks so far with sum s. Ascending ranks keep the sums short.
    std::vector<double> ways((chosen + 1) * width, 0.0);
    std::vector<std::size_t> longest(chosen + 1, 0);  // largest sum reached with k chosen
    ways[0] = 1;
    for (std::size_t i = 0; i < all; ++i) {
        const auto rank = static_cast<std::size_t>(ranks[i]);
        const std::size_t rest = all - i - 1;
        const std::size_t from = std::max<std::size_t>(1, chosen > rest ? chosen - rest : 1);
        for (std::size_t k = std::min(i + 1, chosen); k >= from; --k) {
            double* to = &ways[k * width + rank];
            const double* with = &ways[(k - 1) * width];
            const std::size_t length = std::min(longest[k - 1], top - rank) + 1;
            for (std::size_t s = 0; s < length; ++s) to[s] += with[s];
            longest[k] = std::max(longest[k], length - 1 + rank);
        }
    }
    return tails_at(std::span(ways).subspan(chosen * width, width), target);
}

std::vector<double> signed_rank_cumulative(int n) {
    const auto top = static_cast<std::size_t>(n) * (static_cast<std::size_t>(n) + 1) / 2;
    std::vector<double> counts(top + 1, 0.0);
    counts[0] = 1;
    std::size_t reached = 0;
    for (std::size_t rank = 1; rank <= static_cast<std::size_t>(n); ++rank) {
        reached += rank;
        for (std::size_t w = reached + 1; w-- > rank;) counts[w] += counts[w - rank];
        // Halved as we go: probabilities, so that large n do not overflow.
        for (std::size_t w = 0; w <= reached; ++w) counts[w] *= 0.5;
    }
    accumulate_to_probabilities(counts);
    return counts;
}

Tails tied_signed_rank_tails(std::span<const std::int64_t> twice_ranks, std::int64_t seen) {
    std::int64_t top = 0;
    for (const auto rank : twice_ranks) top += rank;
    std::vector<double> counts(static_cast<std::size_t>(top) + 1, 0.0);
    counts[0] = 1;
    std::size_t reached = 0;
    for (const auto doubled : twice_ranks) {
        const auto rank = static_cast<std::size_t>(doubled);
        reached += rank;
        for (std::size_t w = reached + 1; w-- > rank;) counts[w] += counts[w - rank];
        for (std::size_t w = 0; w <= reached; ++w) counts[w] *= 0.5;
    }
    return tails_at(counts, seen);
}

}  // namespace kab::stats
