#include "daemon/stats/pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

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

Matched match(const Cell& arm, const Cell& against) {
    if (std::equal(arm.iterations.begin(), arm.iterations.end(), against.iterations.begin(), against.iterations.end()))
        return {arm.score, against.score, true};
    std::vector<double> a, b, scaled_a, scaled_b;
    std::size_t i = 0, j = 0;
    while (i < arm.iterations.size() && j < against.iterations.size()) {
        if (arm.iterations[i] < against.iterations[j]) {
            ++i;
        } else if (arm.iterations[i] > against.iterations[j]) {
            ++j;
        } else {
            a.push_back(arm.values[i]);
            b.push_back(against.values[j]);
            scaled_a.push_back(arm.scaled[i++]);
            scaled_b.push_back(against.scaled[j++]);
        }
    }
    if (a.empty()) return {};
    return {score_of(arm, a, scaled_a), score_of(against, b, scaled_b), true};
}

void count_state(Pairs& pairs, const Cell& cell) {
    pairs.not_positive += cell.state == Cell::State::not_positive ? 1 : 0;
    pairs.not_finite += cell.state == Cell::State::not_finite ? 1 : 0;
}

}  // namespace

Pairs pair_up(std::span<const Cell> cells, int arm, int against) {
    Pairs result;
    std::vector<double> against_scores;
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
        if (usable_arm && usable_against) scores = match(*of_arm, *of_against);
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
    std::set<int> all;
    for (std::size_t p = 0; p < points.size(); ++p) {
        const bool enough = !points[p].blocks.empty() && 2 * points[p].blocks.size() >= most;
        (enough ? result.used : result.left_out).push_back(p);
        if (enough) all.insert(points[p].blocks.begin(), points[p].blocks.end());
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
