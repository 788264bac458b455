#pragma once
// Two changes and a control beside one baseline, and arms that are lost or fail.
#include <algorithm>
#include <cmath>
#include <string>

#include "daemon/stats/analysis.h"
#include "tests/unit/stats/made.h"

namespace kab::stats {

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// base, change, a second change and, last, the control; at `look`, all as base but for the effects.
inline Input three_arms(int look, double first, double second, double sd = .005) {
    Input input = two_arms();
    input.arms.push_back({"other", 0, false, 0, 0});
    input.arms.push_back({"A'", 0, true, 0, 0});
    input.look = look;
    const double effect[] = {0, std::log1p(first), std::log1p(second), 0};
    fill(input, 0, blocks_at(input, look), 2,
         [&](int b, int a, int) { return 100 * std::exp(effect[a] + sd * noise(b, a)); });
    for (auto& arm : input.arms) arm.boots = blocks_at(input, look);
    return input;
}

inline void forget(Input& input, int arm, int after = 0) {
    std::erase_if(input.observations, [&](const Observation& o) { return o.arm == arm && o.block > after; });
}

inline void keeps_failing(Input& input, int arm, int failed, int boots) {
    auto& info = input.arms[static_cast<std::size_t>(arm)];
    info.stopped = info.keeps_failing = true;
    info.stopped_why = "fails to boot";
    info.failed = failed;
    info.boots = boots;
}

}  // namespace kab::stats
