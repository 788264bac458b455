#include "daemon/stats/rank_distributions.h"

#include <algorithm>
#include <cstddef>
#include <map>
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

/// How many ways there are to choose `chosen` of the ascending ranks with each sum up to `most`.
std::vector<double> sums_of_choices(std::span<const std::int64_t> ranks, std::size_t chosen, std::size_t most) {
    const std::size_t width = most + 1;
    std::vector<double> ways((chosen + 1) * width, 0.0);  // of k ranks so far: row k
    std::vector<std::size_t> length(chosen + 1, 0);       // sums of row k that can have been reached
    ways[0] = 1;
    length[0] = 1;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const auto rank = static_cast<std::size_t>(ranks[i]);
        if (rank > most) break;
        const std::size_t rest = ranks.size() - i - 1;
        const std::size_t from = chosen > rest ? chosen - rest : 1;  // fewer can no longer become `chosen`
        for (std::size_t k = std::min(i + 1, chosen); k >= from; --k) {
            double* to = &ways[k * width + rank];
            const double* with = &ways[(k - 1) * width];
            const std::size_t steps = std::min(length[k - 1], width - rank);
            for (std::size_t s = 0; s < steps; ++s) to[s] += with[s];
            if (steps > 0) length[k] = std::max(length[k], steps + rank);
        }
    }
    return {ways.begin() + static_cast<std::ptrdiff_t>(chosen * width), ways.end()};
}

double choices(std::size_t all, std::size_t chosen) {
    double ways = 1;
    for (std::size_t i = 1; i <= chosen; ++i)
        ways = ways * static_cast<double>(all - chosen + i) / static_cast<double>(i);
    return ways;
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
    const std::size_t all = twice_ranks.size();
    if (chosen == 0 || chosen > all) return {};
    // Mirrored where that makes `seen` the smaller sum: only sums up to it need to be counted.
    std::vector<std::int64_t> ranks(twice_ranks.begin(), twice_ranks.end());
    std::sort(ranks.begin(), ranks.end());
    const auto k = static_cast<std::int64_t>(chosen);
    const std::int64_t total = std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0});
    const bool mirrored = seen * static_cast<std::int64_t>(all) > total * k;
    if (mirrored) {
        const std::int64_t ends = ranks.front() + ranks.back();
        for (auto& rank : ranks) rank = ends - rank;
        std::reverse(ranks.begin(), ranks.end());
        seen = ends * k - seen;
    }
    // Relative to the least rank, and halved where all are whole: a smaller table.
    const std::int64_t least = ranks.front();
    for (auto& rank : ranks) rank -= least;
    seen -= least * k;
    if (std::all_of(ranks.begin(), ranks.end(), [](std::int64_t r) { return r % 2 == 0; })) {
        for (auto& rank : ranks) rank /= 2;
        seen /= 2;
    }
    const auto counts = sums_of_choices(ranks, chosen, static_cast<std::size_t>(seen));
    const double ways = choices(all, chosen);
    const double at_most = std::accumulate(counts.begin(), counts.end(), 0.0) / ways;
    const Tails tails{std::min(1.0, at_most), std::clamp(1 - at_most + counts.back() / ways, 0.0, 1.0)};
    return mirrored ? Tails{tails.upper, tails.lower} : tails;
}

namespace {

std::vector<double> count_signed_ranks(int n) {
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

}  // namespace

const std::vector<double>& signed_rank_cumulative(int n) {
    // A memo of a pure function: all comparisons of an evaluation have nearly the same n.
    thread_local std::map<int, std::vector<double>> memo;
    auto [found, fresh] = memo.try_emplace(n);
    if (fresh) found->second = count_signed_ranks(n);
    return found->second;
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
