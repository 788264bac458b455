#include "daemon/stats/pairs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "daemon/stats/sums.h"

namespace kab::stats {
namespace {

/// Rounding of logarithms and means: a few units in the last place of the largest score.
double rounding(double largest_score) {
    return 16 * std::numeric_limits<double>::epsilon() * largest_score;
}

struct Matched {
    double arm = 0, against = 0;
    bool any = false;
};

Matched match(const Cells& cells, int series, const Cell& arm, const Cell& against) {
    const auto own = cells.iterations(arm), other = cells.iterations(against);
    if (std::equal(own.begin(), own.end(), other.begin(), other.end())) return {arm.score, against.score, true};
    const auto values_arm = cells.values(arm), values_against = cells.values(against);
    std::vector<double> a, b;
    std::size_t i = 0, j = 0;
    while (i < own.size() && j < other.size()) {
        if (own[i] < other[j]) {
            ++i;
        } else if (own[i] > other[j]) {
            ++j;
        } else {
            a.push_back(values_arm[i++]);
            b.push_back(values_against[j++]);
        }
    }
    if (a.empty()) return {};
    return {cells.score_of(series, a), cells.score_of(series, b), true};
}

void count_state(Pairs& pairs, const Cell& cell) {
    pairs.not_positive += cell.state == Cell::State::not_positive ? 1 : 0;
    pairs.not_finite += cell.state == Cell::State::not_finite ? 1 : 0;
}

/// The boots of a series up to a block.
std::span<const Cell> until(std::span<const Cell> cells, int last_block) {
    const auto end =
        std::partition_point(cells.begin(), cells.end(), [&](const Cell& c) { return c.block <= last_block; });
    return cells.first(static_cast<std::size_t>(end - cells.begin()));
}

/// Every block has both arms with the same iterations.
void pair_regular(Pairs& result, std::vector<double>& against_scores, std::span<const Cell> cells, std::size_t arms,
                  int arm, int against) {
    const auto a = static_cast<std::size_t>(arm), b = static_cast<std::size_t>(against);
    const std::size_t blocks = cells.size() / arms;
    result.blocks.resize(blocks);
    result.d.resize(blocks);
    against_scores.resize(blocks);
    for (std::size_t i = 0; i < blocks; ++i) {
        const double score = cells[i * arms + a].score, other = cells[i * arms + b].score;
        result.blocks[i] = cells[i * arms].block;
        result.d[i] = score - other;
        against_scores[i] = other;
        result.tolerance = std::max({result.tolerance, std::abs(score), std::abs(other)});
    }
}

}  // namespace

Pairs pair_up(const Cells& all, int series, int arm, int against, int last_block) {
    Pairs result;
    const auto cells = until(all.of(series), last_block);
    std::vector<double> against_scores;
    const std::size_t most = cells.size() / all.arms() + 1;
    result.blocks.reserve(most);
    result.d.reserve(most);
    against_scores.reserve(most);
    if (all.regular(series)) {
        pair_regular(result, against_scores, cells, all.arms(), arm, against);
        result.against_mean = mean(against_scores);
        result.tolerance = rounding(result.tolerance);
        return result;
    }
    double largest = 0;
    for (std::size_t i = 0; i < cells.size();) {
        const int block = cells[i].block;
        const Cell *of_arm = nullptr, *of_against = nullptr;
        for (; i < cells.size() && cells[i].block == block; ++i) {
            if (cells[i].arm == arm) of_arm = &cells[i];
            if (cells[i].arm == against) of_against = &cells[i];
        }
        if (of_arm != nullptr) count_state(result, *of_arm);
        if (of_against != nullptr) count_state(result, *of_against);
        const bool usable_arm = of_arm != nullptr && of_arm->state == Cell::State::ok;
        const bool usable_against = of_against != nullptr && of_against->state == Cell::State::ok;
        if (!usable_arm && !usable_against) continue;
        Matched scores;
        if (usable_arm && usable_against) scores = match(all, series, *of_arm, *of_against);
        if (!scores.any) {
            result.unmatched.push_back(block);
            continue;
        }
        result.blocks.push_back(block);
        result.d.push_back(scores.arm - scores.against);
        against_scores.push_back(scores.against);
        largest = std::max({largest, std::abs(scores.arm), std::abs(scores.against)});
    }
    result.against_mean = mean(against_scores);
    result.tolerance = rounding(largest);
    return result;
}

SweepPairs pair_up_sweep(std::span<const Pairs> points) {
    SweepPairs result;
    std::size_t most = 0;
    for (const auto& point : points) most = std::max(most, point.blocks.size());
    std::vector<int> all, more;
    for (std::size_t p = 0; p < points.size(); ++p) {
        const bool enough = !points[p].blocks.empty() && 2 * points[p].blocks.size() >= most;
        (enough ? result.used : result.left_out).push_back(p);
        if (enough && points[p].blocks != all) {
            more.clear();
            std::set_union(all.begin(), all.end(), points[p].blocks.begin(), points[p].blocks.end(),
                           std::back_inserter(more));
            all.swap(more);
        }
        result.pairs.not_positive += points[p].not_positive;
        result.pairs.not_finite += points[p].not_finite;
    }
    std::vector<std::size_t> at(points.size(), 0);
    std::vector<double> of_points, against_means;
    for (const int block : all) {
        of_points.clear();
        for (const auto p : result.used) {
            auto& i = at[p];
            while (i < points[p].blocks.size() && points[p].blocks[i] < block) ++i;
            if (i < points[p].blocks.size() && points[p].blocks[i] == block) of_points.push_back(points[p].d[i]);
        }
        if (of_points.size() != result.used.size()) {
            result.incomplete.push_back(block);
            continue;
        }
        result.pairs.blocks.push_back(block);
        result.pairs.d.push_back(mean(of_points));
    }
    for (const auto p : result.used) {
        against_means.push_back(points[p].against_mean);
        result.pairs.tolerance = std::max(result.pairs.tolerance, points[p].tolerance);
    }
    result.pairs.against_mean = mean(against_means);
    return result;
}

}  // namespace kab::stats
