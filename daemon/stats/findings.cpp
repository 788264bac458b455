#include "daemon/stats/findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "daemon/stats/words.h"

namespace kab::stats {
namespace {

using Sides = std::pair<std::vector<int>, std::vector<int>>;  ///< improved, regressed

/// Of the listed comparisons the one with the largest |t|; an exact one beats all.
int strongest(const std::vector<Comparison>& comparisons, const std::vector<int>& which) {
    const auto strength = [&](int i) {
        const auto& c = comparisons[static_cast<std::size_t>(i)];
        return std::pair(c.exact, std::abs(c.t));
    };
    return *std::max_element(which.begin(), which.end(), [&](int a, int b) { return strength(a) < strength(b); });
}

using Metric = std::pair<std::string, std::string>;            ///< workload, its metric
using Opposed = std::tuple<int, Metric, Metric>;               ///< arm, what is better, what is worse
using PointOfArm = std::tuple<int, std::string, std::string>;  ///< arm, workload, point

Metric metric_of(const Comparison& c) {
    return {c.workload, c.metric};
}

/// Pairs at a point of the primary's sweep; their means may hide one, as effects at other points cancel it.
void add_trades_at_points(const std::vector<Comparison>& comparisons, const std::vector<Series>& series,
                          std::vector<Trade>& trades) {
    std::set<Metric> primaries;
    for (const auto& c : comparisons)
        if (c.primary && c.series < 0) primaries.insert(metric_of(c));
    std::set<Opposed> told;
    for (const auto& trade : trades)
        told.emplace(trade.arm, metric_of(comparisons[static_cast<std::size_t>(trade.better_comparison)]),
                     metric_of(comparisons[static_cast<std::size_t>(trade.worse_comparison)]));
    std::map<PointOfArm, Sides> at_point;
    for (int i = 0; i < static_cast<int>(comparisons.size()); ++i) {
        const auto& c = comparisons[static_cast<std::size_t>(i)];
        if (!c.material || !c.question() || c.series < 0) continue;
        auto& [better, worse] = at_point[{c.arm, c.workload, series[static_cast<std::size_t>(c.series)].point}];
        if (c.verdict == Verdict::improved) better.push_back(i);
        if (c.verdict == Verdict::regressed) worse.push_back(i);
    }
    for (const auto& [point, sides] : at_point)
        for (const int b : sides.first)
            for (const int w : sides.second) {
                const auto better = metric_of(comparisons[static_cast<std::size_t>(b)]);
                const auto worse = metric_of(comparisons[static_cast<std::size_t>(w)]);
                if (!primaries.contains(better) && !primaries.contains(worse)) continue;
                if (told.contains({std::get<0>(point), better, worse})) continue;
                trades.push_back({std::get<0>(point), b, w, true});
            }
}

}  // namespace

std::vector<Trade> trades_of(const std::vector<Comparison>& comparisons, const std::vector<Series>& series) {
    std::set<std::tuple<int, std::string, std::string>> swept;
    for (const auto& c : comparisons)
        if (c.series < 0) swept.emplace(c.arm, c.workload, c.metric);
    std::map<int, Sides> of_arm;
    for (int i = 0; i < static_cast<int>(comparisons.size()); ++i) {
        const auto& c = comparisons[static_cast<std::size_t>(i)];
        if (!c.material || !c.question()) continue;
        if (c.series >= 0 && swept.contains({c.arm, c.workload, c.metric})) continue;
        if (c.verdict == Verdict::improved) of_arm[c.arm].first.push_back(i);
        if (c.verdict == Verdict::regressed) of_arm[c.arm].second.push_back(i);
    }
    std::vector<Trade> trades;
    for (const auto& [arm, sides] : of_arm) {
        const auto& [better, worse] = sides;
        const auto primary = [&](int i) { return comparisons[static_cast<std::size_t>(i)].primary; };
        const bool any =
            std::any_of(better.begin(), better.end(), primary) || std::any_of(worse.begin(), worse.end(), primary);
        if (better.empty() || worse.empty()) continue;
        if (!any) {
            trades.push_back({arm, strongest(comparisons, better), strongest(comparisons, worse)});
            continue;
        }
        for (const int b : better)
            for (const int w : worse)
                if (primary(b) || primary(w)) trades.push_back({arm, b, w});
    }
    add_trades_at_points(comparisons, series, trades);
    return trades;
}

void warn_of_opposite_points(const std::vector<Measured>& rows, const std::vector<ArmInfo>& arms,
                             std::vector<std::string>& warnings) {
    using Key = std::tuple<std::string, std::string, int>;
    std::map<Key, std::pair<std::string, std::string>> points;
    std::set<Key> swept;
    for (const auto& m : rows) {
        const Key key{m.row.workload, m.row.metric, m.row.arm};
        if (m.row.series < 0) swept.insert(key);
        if (m.row.series < 0 || !m.row.question()) continue;
        auto& [better, worse] = points[key];
        if (m.row.verdict == Verdict::improved) better += (better.empty() ? "" : ", ") + m.point;
        if (m.row.verdict == Verdict::regressed) worse += (worse.empty() ? "" : ", ") + m.point;
    }
    for (const auto& [key, sides] : points) {
        if (!swept.contains(key) || sides.first.empty() || sides.second.empty()) continue;
        const auto& [workload, metric, arm] = key;
        warnings.push_back(
            fmt::format("{}/{} with {}: points pull in opposite directions, better at {}, worse at {}; the mean over "
                        "points hides that",
                        workload, metric, arms[static_cast<std::size_t>(arm)].name, sides.first, sides.second));
    }
}

void SweepGaps::add(const std::string& workload, const std::string& metric, const std::string& arm,
                    const std::vector<std::string>& points, const std::vector<int>& blocks) {
    for (const auto& point : points)
        gaps_[{arm, workload, point + " is left out, too few blocks have it with and without the change"}].push_back(
            metric);
    if (blocks.empty()) return;
    const std::string what = fmt::format("{} {} left out, a point is missing there",
                                         blocks.size() == 1 ? "block" : "blocks", listed(blocks));
    gaps_[{arm, workload, what}].push_back(metric);
}

void SweepGaps::warn(std::vector<std::string>& warnings) const {
    for (const auto& [where, metrics] : gaps_) {
        const auto& [arm, workload, what] = where;
        std::string names;
        for (const auto& metric : metrics) names += (names.empty() ? "" : ", ") + metric;
        warnings.push_back(fmt::format("{}, mean over points of {} ({}): {}", workload, names, arm, what));
    }
}

}  // namespace kab::stats
