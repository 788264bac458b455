#pragma once
// Whole evaluations on made-up boots, look by look, as the coordinator drives them: what share of them
// ends in which verdict.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/stats/distributions.h"
#include "daemon/stats/figures.h"
#include "daemon/stats/random.h"

namespace kab::stats {

inline double normal(SplitMix& random) {
    return normal_upper_quantile(random.uniform());
}

/// Student's t with 3 degrees of freedom, scaled to variance 1: wild boots now and then.
inline double heavy(SplitMix& random) {
    return t_upper_quantile(random.uniform(), 3) / std::sqrt(3.0);
}

struct Scenario {
    std::string name;
    int arms = 1;       ///< besides the baseline and the control
    double effect = 0;  ///< log ratio of every arm
    double margin = 0.02;
    double sd_boot = 0.01;  ///< the sd of a block difference is sqrt(2) times this
    double drift = 0;       ///< log change over the whole evaluation, linear in boots
    double (*noise)(SplitMix&) = normal;
};

struct Tally {
    int evaluations = 0, improved = 0, regressed = 0, equivalent = 0, inconclusive = 0, invalid = 0;
    int any_difference = 0;  ///< evaluations with a difference in at least one arm
    long blocks = 0;

    double share(int count) const { return static_cast<double>(count) / evaluations; }
    double mean_blocks() const { return static_cast<double>(blocks) / evaluations; }
};

inline Input start(const Scenario& scenario) {
    Input input;
    input.design.looks = {6, 10, 16, 24, 32};
    input.design.margin = scenario.margin;
    input.arms.push_back({"base", -1, false, 0, 0});
    for (int a = 1; a <= scenario.arms; ++a) input.arms.push_back({"arm" + std::to_string(a), 0, false, 0, 0});
    input.arms.push_back({"A'", 0, true, 0, 0});
    input.series.push_back({"w", "", "elapsed", "ns", Better::lower, Scale::log, true});
    return input;
}

/// One block: every arm once in a random order, two iterations a boot.
inline void add_block(Input& input, const Scenario& scenario, int block, SplitMix& random) {
    const auto arms = static_cast<int>(input.arms.size());
    std::vector<int> order;
    for (int a = 0; a < arms; ++a) order.push_back(a);
    random.shuffle(order);
    const double of_block = 0.02 * normal(random);
    for (int position = 0; position < arms; ++position) {
        const int arm = order[static_cast<std::size_t>(position)];
        const bool changed = arm > 0 && !input.arms[static_cast<std::size_t>(arm)].control;
        const double when = (block - 1 + static_cast<double>(position) / arms) / 32;
        const double boot = of_block + scenario.sd_boot * scenario.noise(random) + scenario.drift * when +
                            (changed ? scenario.effect : 0);
        for (int i = 0; i < 2; ++i)
            input.observations.push_back({block, arm, 0, i, 1e8 * std::exp(boot + 0.001 * normal(random))});
    }
}

inline Output run_one(const Scenario& scenario, std::uint64_t seed, int& blocks) {
    Input input = start(scenario);
    SplitMix random(derive_seed(seed, 1));
    blocks = 0;
    for (input.look = 0;; ++input.look) {
        const int until = input.design.looks[static_cast<std::size_t>(input.look)];
        while (blocks < until) add_block(input, scenario, ++blocks, random);
        Output output = figures(input);
        if (output.decided) return output;
    }
}

inline Tally simulate(const Scenario& scenario, int evaluations) {
    Tally tally;
    for (int e = 0; e < evaluations; ++e) {
        int blocks = 0;
        const Output output = run_one(scenario, static_cast<std::uint64_t>(e) + 1, blocks);
        ++tally.evaluations;
        tally.blocks += blocks;
        bool difference = false;
        for (const auto& c : output.comparisons) {
            if (!c.primary || c.control) continue;
            tally.improved += c.verdict == Verdict::improved ? 1 : 0;
            tally.regressed += c.verdict == Verdict::regressed ? 1 : 0;
            tally.equivalent += c.verdict == Verdict::equivalent ? 1 : 0;
            tally.inconclusive += c.verdict == Verdict::inconclusive ? 1 : 0;
            difference |= c.verdict == Verdict::improved || c.verdict == Verdict::regressed;
        }
        tally.any_difference += difference ? 1 : 0;
        tally.invalid += output.verdict == Verdict::invalid ? 1 : 0;
    }
    return tally;
}

/// The limit for a share whose true value may be `limit`: with few evaluations chance needs room.
inline double with_room(double limit, int evaluations, double deviations) {
    return limit + deviations * std::sqrt(limit * (1 - limit) / evaluations);
}

inline void print(const Scenario& scenario, const Tally& tally) {
    std::printf(
        "%-28s improved %.4f regressed %.4f equivalent %.4f inconclusive %.4f invalid %.4f any %.4f blocks %.2f\n",
        scenario.name.c_str(), tally.share(tally.improved), tally.share(tally.regressed), tally.share(tally.equivalent),
        tally.share(tally.inconclusive), tally.share(tally.invalid), tally.share(tally.any_difference),
        tally.mean_blocks());
}

/// All that a simulation must show (docs/statistics.md). `deviations`: room for chance in the error rates.
inline void check_promises(int evaluations, double deviations) {
    const double sd_of_difference = 0.01 * std::sqrt(2.0);
    const double five_and_a_half = deviations > 0 ? with_room(0.05, evaluations, deviations) : 0.055;
    // No margin: nothing but differences can be found, the hardest case for false ones.
    for (const Scenario& scenario :
         {Scenario{"A/A, normal boots", 1, 0, 0, 0.01, 0, normal},
          Scenario{"A/A, heavy tails", 1, 0, 0, 0.01, 0, heavy}, Scenario{"A/A, 3% drift", 1, 0, 0, 0.01, 0.03, normal},
          Scenario{"A/A, default margin", 1, 0, 0.02, 0.02, 0, normal},
          Scenario{"A/A, four arms", 4, 0, 0, 0.01, 0, normal}}) {
        const Tally tally = simulate(scenario, evaluations);
        print(scenario, tally);
        EXPECT_LE(tally.share(tally.any_difference), five_and_a_half) << scenario.name;
        EXPECT_LE(tally.share(tally.invalid), with_room(0.005, evaluations, 3)) << scenario.name;
    }
    for (const double sd : {0.3, 0.6, 1.2}) {  // of the block difference, in margins
        const Scenario scenario{"effect = margin", 1, std::log1p(0.02), 0.02, sd * 0.02 / std::sqrt(2.0), 0, normal};
        const Tally tally = simulate(scenario, evaluations);
        print(scenario, tally);
        EXPECT_LE(tally.share(tally.equivalent), with_room(0.05, evaluations, deviations)) << sd;
    }
    const Scenario one{"effect = 1 sd(d)", 1, sd_of_difference, 0, 0.01, 0, normal};
    const Tally of_one = simulate(one, evaluations);
    print(one, of_one);
    EXPECT_GE(of_one.share(of_one.regressed), 0.9);
    const Scenario two{"effect = 2 sd(d)", 1, 2 * sd_of_difference, 0, 0.01, 0, normal};
    const Tally of_two = simulate(two, evaluations);
    print(two, of_two);
    EXPECT_GE(of_two.share(of_two.regressed), 0.98);
    EXPECT_LE(of_two.mean_blocks(), 10);
}

}  // namespace kab::stats
