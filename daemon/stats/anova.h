#pragma once
// Balanced analysis of variance, one way and in blocks.
#include <span>
#include <vector>

namespace kab::stats {

struct OneWay {
    int groups = 0, per_group = 0;
    double f = 0, p = 1;
    double between = 0;  ///< variance component (REML = method of moments for balanced data), at least 0
    double within = 0;   ///< residual variance
};

/// Groups of equal size (at least two groups of two values), else all defaults.
OneWay one_way(std::span<const std::vector<double>> groups);

struct BlockDesign {
    int blocks = 0, arms = 0;
    std::vector<double> arm_means;
    double mean_square_block = 0, mean_square_residual = 0;
    double df_residual = 0;
    double standard_error = 0;  ///< of the difference of two arm means
    bool valid = false;         ///< two blocks and two arms at least
};

/// `scores[block * arms + arm]`, all present.
BlockDesign block_design(std::span<const double> scores, int arms);

}  // namespace kab::stats
