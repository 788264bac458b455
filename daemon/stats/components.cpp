#include "daemon/stats/components.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "daemon/stats/analysis.h"
#include "daemon/stats/anova.h"
#include "daemon/stats/paired.h"
#include "daemon/stats/sums.h"

namespace kab::stats {
namespace {

double mean_of(const BootValues& boot) {
    return boot.mean ? *boot.mean : mean(boot.values);
}

/// Most boots even share their list.
bool same(std::span<const int> a, std::span<const int> b) {
    return a.size() == b.size() && (a.data() == b.data() || std::equal(a.begin(), a.end(), b.begin()));
}

bool same_iterations(std::span<const BootValues> boots) {
    return std::all_of(boots.begin(), boots.end(),
                       [&](const BootValues& boot) { return same(boot.iterations, boots.front().iterations); });
}

/// Least-squares slopes of the values of boots over their iteration index.
class Slopes {
  public:
    /// Nullopt when there is but one index.
    std::optional<double> of(const BootValues& boot) {
        if (!same(boot.iterations, indices_)) prepare(boot.iterations);
        if (!(squares_ > 0)) return std::nullopt;
        const double level = mean_of(boot);
        double products = 0;
        for (std::size_t i = 0; i < boot.values.size(); ++i) products += offs_[i] * (boot.values[i] - level);
        return products / squares_;
    }

  private:
    /// Most boots have the indices of the one before.
    void prepare(std::span<const int> indices) {
        indices_ = indices;
        double centre = 0;
        for (const int index : indices) centre += index;
        centre /= static_cast<double>(indices.size());
        offs_.clear();
        squares_ = 0;
        for (const int index : indices) {
            offs_.push_back(index - centre);
            squares_ += offs_.back() * offs_.back();
        }
    }

    std::span<const int> indices_;
    std::vector<double> offs_;  ///< from their mean
    double squares_ = 0;
};

/// What each value has over its boot's mean, in groups of the same iteration index.
struct Rests {
    std::vector<double> values;
    std::vector<std::size_t> ends;  ///< of the groups
};

Rests rests_of(std::span<const BootValues> boots, std::span<const double> means) {
    Rests rests;
    if (same_iterations(boots)) {
        const std::size_t count = boots.front().values.size();
        rests.values.resize(count * boots.size());
        for (std::size_t i = 0; i < boots.size(); ++i) {
            const double* const values = boots[i].values.data();
            const double level = means[i];
            double* const to = &rests.values[i];
            for (std::size_t j = 0, at = 0; j < count; ++j, at += boots.size()) to[at] = values[j] - level;
        }
        for (std::size_t j = 1; j <= count; ++j) rests.ends.push_back(j * boots.size());
        return rests;
    }
    std::vector<std::pair<int, double>> all;
    for (std::size_t i = 0; i < boots.size(); ++i)
        for (std::size_t j = 0; j < boots[i].values.size(); ++j)
            all.emplace_back(boots[i].iterations[j], boots[i].values[j] - means[i]);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i > 0 && all[i].first != all[i - 1].first) rests.ends.push_back(i);
        rests.values.push_back(all[i].second);
    }
    rests.ends.push_back(all.size());
    return rests;
}

/// Absent when no boot has more values than its index means take.
std::optional<double> iteration_variance(std::span<const BootValues> boots, std::span<const double> means,
                                         IndexMeans index_means) {
    Rests rests = rests_of(boots, means);
    std::vector<double>& squares = rests.values;
    std::size_t begin = 0;
    for (const std::size_t end : rests.ends) {
        const auto group = std::span(squares).subspan(begin, end - begin);
        const double level = index_means == IndexMeans::remove ? mean(group) : 0;
        for (double& r : group) r = (r - level) * (r - level);
        begin = end;
    }
    const auto indices = static_cast<double>(rests.ends.size());
    double df = static_cast<double>(squares.size()) - static_cast<double>(boots.size());
    if (index_means == IndexMeans::remove) df -= indices - 1;
    if (!(df > 0)) return std::nullopt;
    return sum(squares) / df;
}

/// Scores of the blocks that have all arms, block by block.
std::vector<double> complete_blocks(std::span<const BootValues> boots, std::span<const double> means, int& arms) {
    std::vector<int> all_arms;  // few
    for (const auto& boot : boots)
        if (std::find(all_arms.begin(), all_arms.end(), boot.arm) == all_arms.end()) all_arms.push_back(boot.arm);
    arms = static_cast<int>(all_arms.size());
    std::vector<double> scores;
    scores.reserve(boots.size());
    for (std::size_t begin = 0; begin < boots.size();) {
        std::size_t end = begin;
        while (end < boots.size() && boots[end].block == boots[begin].block) ++end;
        if (end - begin == all_arms.size())
            for (std::size_t i = begin; i < end; ++i) scores.push_back(means[i]);
        begin = end;
    }
    return scores;
}

/// The mean slope of the boots of each block.
std::vector<double> block_slopes(std::span<const BootValues> boots) {
    std::vector<double> of_blocks, slopes;
    Slopes slope;
    for (std::size_t i = 0; i < boots.size();) {
        slopes.clear();
        const int block = boots[i].block;
        for (; i < boots.size() && boots[i].block == block; ++i)
            if (const auto s = slope.of(boots[i])) slopes.push_back(*s);
        if (!slopes.empty()) of_blocks.push_back(mean(slopes));
    }
    return of_blocks;
}

std::optional<double> mean_slope(std::span<const double> of_blocks) {
    if (of_blocks.empty()) return std::nullopt;
    const bool same = std::equal(of_blocks.begin() + 1, of_blocks.end(), of_blocks.begin());
    return same ? of_blocks.front() : mean(of_blocks);
}

}  // namespace

Components variance_components(std::span<const BootValues> boots, IndexMeans index_means) {
    Components result;
    std::vector<double> means;
    means.reserve(boots.size());
    double inverse = 0, share = 0;
    std::size_t size = 0;  // mostly that of all boots
    for (const auto& boot : boots) {
        means.push_back(mean_of(boot));
        if (boot.values.empty()) return result;
        if (boot.values.size() != size) share = 1 / static_cast<double>(boot.values.size());
        size = boot.values.size();
        inverse += share;
    }
    if (boots.empty()) return result;
    const double n = static_cast<double>(boots.size()) / inverse;
    result.iterations_per_boot = n;
    result.iteration = iteration_variance(boots, means, index_means);
    result.trend = mean_slope(block_slopes(boots));
    int arms = 0;
    const auto scores = complete_blocks(boots, means, arms);
    const BlockDesign design = block_design(scores, arms);
    if (!design.valid) return result;
    result.boot = std::max(0.0, design.mean_square_residual - result.iteration.value_or(0) / n);
    result.block = std::max(0.0, (design.mean_square_block - design.mean_square_residual) / arms);
    return result;
}

Trend trend_of(std::span<const BootValues> boots) {
    const auto slopes = block_slopes(boots);
    Trend trend;
    trend.slope = mean_slope(slopes);
    const PairedT test = paired_t(slopes);
    if (test.n >= 2 && !test.exact) trend.p = test.p;
    return trend;
}

std::optional<double> slope_interaction_p(std::span<const BootValues> boots, int arm, int against) {
    std::vector<double> differences;
    Slopes slope;
    for (std::size_t i = 0; i < boots.size();) {
        const int block = boots[i].block;
        std::optional<double> of_arm, of_against;
        for (; i < boots.size() && boots[i].block == block; ++i) {
            if (boots[i].arm == arm) of_arm = slope.of(boots[i]);
            if (boots[i].arm == against) of_against = slope.of(boots[i]);
        }
        if (of_arm && of_against) differences.push_back(*of_arm - *of_against);
    }
    const PairedT test = paired_t(differences);
    if (test.n < 2 || test.exact) return std::nullopt;
    return test.p;
}

std::optional<int> best_iterations(const Components& components, double cost_boot, double cost_iteration) {
    if (!components.boot || !components.iteration) return std::nullopt;
    if (!(cost_boot > 0) || !(cost_iteration > 0) || !(*components.boot > 0) || !(*components.iteration > 0))
        return std::nullopt;
    const double best = std::sqrt(cost_boot / cost_iteration * (*components.iteration / *components.boot));
    if (!std::isfinite(best)) return std::nullopt;
    return static_cast<int>(std::clamp(std::round(best), 1.0, double{most_best_iterations}));
}

}  // namespace kab::stats
