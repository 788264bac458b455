#pragma once
// Inputs made by hand for the tests of the whole analysis.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/stats/distributions.h"
#include "daemon/stats/random.h"

namespace kab::stats {

inline double normal(SplitMix& random) {
    return normal_upper_quantile(random.uniform());
}

/// Arms "base" and "change" (and "A'" as the control), one primary series lower-is-better on a log scale.
inline Input two_arms(bool control = false) {
    Input input;
    input.design.looks = {6, 10, 16, 24, 32};
    input.arms.push_back({"base", -1, false, 0, 0});
    input.arms.push_back({"change", 0, false, 0, 0});
    if (control) input.arms.push_back({"A'", 0, true, 0, 0});
    input.series.push_back({"w", "", "elapsed", "ns", Better::lower, Scale::log, true});
    return input;
}

/// value(block, arm, iteration) for every block from 1, arm and iteration of one series.
inline void fill(Input& input, int series, int blocks, int iterations,
                 const std::function<double(int, int, int)>& value) {
    for (int b = 1; b <= blocks; ++b)
        for (int a = 0; a < static_cast<int>(input.arms.size()); ++a)
            for (int i = 0; i < iterations; ++i) input.observations.push_back({b, a, series, i, value(b, a, i)});
}

/// As of `look`, with the blocks planned for it.
inline int blocks_at(const Input& input, int look) {
    return input.design.looks[static_cast<std::size_t>(look)];
}

/// A noise of its own for each (block, arm), always the same: no generator state in the tests.
inline double noise(int block, int arm, std::uint64_t seed = 1) {
    SplitMix random(derive_seed(seed, static_cast<std::uint64_t>(block), static_cast<std::uint64_t>(arm)));
    return normal(random);
}

inline const Comparison& primary_of(const Output& output, int arm) {
    for (const auto& c : output.comparisons)
        if (c.primary && c.arm == arm) return c;
    static const Comparison missing;
    return missing;
}

inline bool mentions(const std::vector<std::string>& lines, const std::string& text) {
    for (const auto& line : lines)
        if (line.find(text) != std::string::npos) return true;
    return false;
}

}  // namespace kab::stats
