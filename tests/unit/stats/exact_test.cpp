// Exact mode, and an arm that is there to show what placement of code does.
#include <algorithm>
#include <cmath>

#include "daemon/stats/analysis.h"
#include "daemon/stats/exact.h"
#include "tests/unit/stats/made.h"
#include "tests/unit/stats/near.h"

namespace kab::stats {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// base, change and A' in exact mode, looked at after 3 and 6 blocks; `change` takes that many instructions more.
/// From block to block all move by `varied` times a noise of the block, of the change a tenth more.
Input exact_arms(double more, double varied, int look = 1) {
    Input input = two_arms(true);
    input.design.exact = true;
    input.design.margin = 0;
    input.design.looks = {3, 6};
    input.look = look;
    fill(input, 0, blocks_at(input, look), 3, [&](int b, int a, int i) {
        const double moved = std::round(varied * noise(b, 0) * (a == 1 ? 1.1 : 1));
        return 1000000.0 + i + moved + (a == 1 ? more : 0);
    });
    for (auto& arm : input.arms) arm.boots = blocks_at(input, look);
    return input;
}

TEST(Exact, ADifferenceThatDoesNotVaryHasNeitherTNorP) {
    const auto output = analyse(exact_arms(1, 0, 0));
    const auto& c = primary_of(output, 1);
    EXPECT_TRUE(c.exact);
    EXPECT_FALSE(c.p);
    EXPECT_FALSE(c.p_adjusted);
    EXPECT_FALSE(c.p_equivalence);
    EXPECT_EQ(c.t, 0);
    EXPECT_EQ(c.verdict, Verdict::regressed);
    EXPECT_TRUE(c.material) << "where the margin is 0, whatever is there counts";
    EXPECT_TRUE(output.decided) << output.sentence;
    EXPECT_TRUE(contains(c.sentence, "exactly +0.0001% in each of 3 blocks: regressed")) << c.sentence;
}

TEST(Exact, TheSameFiguresAreTheSame) {
    const auto output = analyse(exact_arms(0, 0, 0));
    EXPECT_EQ(output.verdict, Verdict::equivalent);
    EXPECT_TRUE(contains(primary_of(output, 1).sentence, "equivalent, exactly the same")) << output.sentence;
}

TEST(Exact, WithAMarginASmallDifferenceIsBothEquivalentAndThere) {
    auto input = exact_arms(100, 0);
    input.design.margin = .02;
    auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::equivalent);
    EXPECT_TRUE(contains(primary_of(output, 1).sentence, "equivalent within 2%, though not the same"))
        << primary_of(output, 1).sentence;
    input = exact_arms(1000, 10);
    input.design.margin = .02;
    output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::equivalent);
    EXPECT_TRUE(contains(primary_of(output, 1).sentence, "though the small difference is statistically significant"))
        << primary_of(output, 1).sentence;
}

TEST(Exact, WhereThereIsNoMarginNothingIsMaterial) {
    // The margin is the linear primary's: there is none for a ratio. A margin of 0 is one on any scale.
    for (const double margin : {500.0, 0.0}) {
        auto input = exact_arms(1000, 0);
        input.series[0].scale = Scale::linear;
        input.series.push_back({"w", "", "idle", "ns", Better::lower, Scale::log, false});
        fill(input, 1, 6, 3, [](int, int a, int) { return a == 1 ? 2000.0 : 1000.0; });
        input.design.margin = margin;
        const auto output = analyse(input);
        EXPECT_TRUE(primary_of(output, 1).material);
        int seen = 0;
        for (const auto& c : output.comparisons) {
            if (c.metric != "idle" || c.arm != 1) continue;
            ++seen;
            EXPECT_EQ(c.verdict, Verdict::regressed);
            EXPECT_EQ(c.material, margin == 0) << margin;
        }
        EXPECT_EQ(seen, 1);
    }
}

TEST(Exact, WhatVariesFromBlockToBlockHasAnInterval) {
    const auto output = analyse(exact_arms(3000, 1000));
    const auto& c = primary_of(output, 1);
    EXPECT_FALSE(c.exact);
    ASSERT_TRUE(c.estimate);
    EXPECT_LT(c.estimate->low, c.estimate->value);
    ASSERT_TRUE(c.p_adjusted);
    EXPECT_EQ(c.verdict, Verdict::regressed) << c.sentence;
}

TEST(Exact, AControlThatIsOffByOneInstructionVoidsAll) {
    auto input = exact_arms(3000, 1000);
    EXPECT_FALSE(inexact_control(input));
    for (auto& o : input.observations)
        if (o.arm == 2 && o.block == 4 && o.iteration == 1) o.value += 1;
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::invalid);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::invalid);
    const auto own = std::find_if(input.observations.begin(), input.observations.end(),
                                  [](const Observation& o) { return o.arm == 2 && o.block == 4 && o.iteration == 1; });
    EXPECT_TRUE(contains(output.sentence,
                         "the control A' is not exactly the same as base though it is the same kernel "
                         "under the same seed: w/elapsed in block 4, iteration 2: " +
                             std::to_string(static_cast<long long>(own->value)) + " ns against " +
                             std::to_string(static_cast<long long>(own->value) - 1) + " ns"))
        << output.sentence;
}

TEST(Exact, AControlMustBeTheSameInEveryMetric) {
    auto input = exact_arms(3000, 1000);
    input.series.push_back({"w", "", "idle", "ns", Better::lower, Scale::linear, false});
    fill(input, 1, 6, 1, [](int b, int a, int) { return a == 2 && b == 6 ? 1.0 : 0.0; });
    EXPECT_EQ(analyse(input).verdict, Verdict::invalid);
    // A run that only one of them has, too; not a boot that failed.
    input = exact_arms(3000, 1000);
    std::erase_if(input.observations,
                  [](const Observation& o) { return o.arm == 2 && o.block == 2 && o.iteration == 2; });
    EXPECT_TRUE(contains(inexact_control(input).value_or(""), "none against ")) << *inexact_control(input);
    std::erase_if(input.observations, [](const Observation& o) { return o.arm == 2 && o.block == 2; });
    EXPECT_FALSE(inexact_control(input));
}

TEST(Exact, OutsideOfItAControlMayDifferByChance) {
    auto input = exact_arms(30000, 1000);
    input.design.exact = false;
    input.design.margin = .02;
    for (auto& o : input.observations)
        if (o.arm == 2) o.value += noise(o.block, 2);
    EXPECT_NE(analyse(input).verdict, Verdict::invalid);
}

/// base, change, A' and the baseline with its code moved.
Input relinked_arms(double effect, double placement) {
    Input input = two_arms(true);
    input.arms.push_back({"A'relinked", 0, false, 0, 0});
    input.arms.back().relinked = true;
    input.look = 4;
    const double effects[] = {0, effect, 0, placement};
    fill(input, 0, 32, 2, [&](int b, int a, int) { return 100 * std::exp(effects[a] + .005 * noise(b, a)); });
    for (auto& arm : input.arms) arm.boots = 32;
    return input;
}

TEST(Relinked, IsNoQuestionAndNoGate) {
    const auto with = analyse(relinked_arms(.05, .03));
    const auto& moved = primary_of(with, 3);
    EXPECT_TRUE(moved.relinked);
    EXPECT_TRUE(moved.primary);
    EXPECT_EQ(moved.verdict, Verdict::none);
    EXPECT_FALSE(moved.material);
    EXPECT_FALSE(moved.p_adjusted);
    ASSERT_TRUE(moved.estimate);
    EXPECT_NEAR(moved.estimate->level, .95, 1e-12);
    EXPECT_TRUE(contains(moved.sentence, "the placement of code alone moves it")) << moved.sentence;
    EXPECT_EQ(with.verdict, Verdict::regressed) << "it differs, and voids nothing";

    auto without = relinked_arms(.05, .03);
    without.arms.pop_back();
    std::erase_if(without.observations, [](const Observation& o) { return o.arm == 3; });
    const auto alone = analyse(without);
    EXPECT_EQ(primary_of(with, 1).p_adjusted, primary_of(alone, 1).p_adjusted) << "no family of questions counts it";
    EXPECT_EQ(primary_of(with, 1).estimate->low, primary_of(alone, 1).estimate->low);
    EXPECT_EQ(with.sentence, alone.sentence);
}

TEST(Relinked, ThatKeepsFailingIsNoRegression) {
    auto input = relinked_arms(0, 0);
    std::erase_if(input.observations, [](const Observation& o) { return o.arm == 3; });
    input.arms[3].failed = 4;
    input.arms[3].boots = 4;
    input.arms[3].stopped = input.arms[3].keeps_failing = true;
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::equivalent) << output.sentence;
    EXPECT_EQ(primary_of(output, 3).verdict, Verdict::none);
}

}  // namespace
}  // namespace kab::stats
