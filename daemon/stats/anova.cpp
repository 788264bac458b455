#include "daemon/stats/anova.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "daemon/stats/distributions.h"
#include "daemon/stats/sums.h"

namespace kab::stats {

OneWay one_way(std::span<const std::vector<double>> groups) {
    OneWay result;
    if (groups.size() < 2 || groups[0].size() < 2) return result;
    const std::size_t size = groups[0].size();
    std::vector<double> means, within;
    for (const auto& group : groups) {
        if (group.size() != size) return result;
        const Moments m = moments(group);
        means.push_back(m.mean);
        within.push_back(m.variance);
    }
    const auto n = static_cast<double>(size), k = static_cast<double>(groups.size());
    result.groups = static_cast<int>(groups.size());
    result.per_group = static_cast<int>(size);
    const double between_square = n * moments(means).variance;
    result.within = mean(within);
    if (result.within > 0) {
        result.f = between_square / result.within;
        result.p = f_upper(result.f, k - 1, k * (n - 1));
    }
    result.between = std::max(0.0, (between_square - result.within) / n);
    return result;
}

BlockDesign block_design(std::span<const double> scores, int arms) {
    BlockDesign result;
    result.arms = arms;
    const auto width = static_cast<std::size_t>(std::max(arms, 1));
    const std::size_t blocks = scores.size() / width;
    result.blocks = static_cast<int>(blocks);
    if (arms < 2 || blocks < 2) return result;
    std::vector<double> block_means(blocks), column(blocks);
    row_means(scores, width, block_means);
    for (std::size_t a = 0; a < width; ++a) {
        for (std::size_t b = 0; b < blocks; ++b) column[b] = scores[b * width + a];
        result.arm_means.push_back(mean(column));
    }
    const double all = mean(block_means);
    std::vector<double> squares;
    squares.reserve(scores.size());
    for (std::size_t b = 0; b < blocks; ++b)
        for (std::size_t a = 0; a < width; ++a) {
            const double rest = (scores[b * width + a] - block_means[b]) - (result.arm_means[a] - all);
            squares.push_back(rest * rest);
        }
    const auto n = static_cast<double>(blocks), k = static_cast<double>(arms);
    result.df_residual = (n - 1) * (k - 1);
    result.mean_square_residual = sum(squares) / result.df_residual;
    result.mean_square_block = k * moments(block_means).variance;
    result.standard_error = std::sqrt(2 * result.mean_square_residual / n);
    result.valid = true;
    return result;
}

}  // namespace kab::stats
