#include "daemon/stats/analysis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "daemon/stats/power.h"
#include "tests/unit/stats/made.h"
#include "tests/unit/stats/near.h"

namespace kab::stats {
namespace {

/// base 100 with the given spread of boots, change larger by `effect` (a share).
Input evaluation(int look, double effect, double sd, bool control = false) {
    Input input = two_arms(control);
    input.look = look;
    fill(input, 0, blocks_at(input, look), 3, [&](int b, int a, int i) {
        return 100 * std::exp((a == 1 ? std::log1p(effect) : 0) + sd * noise(b, a) + .0001 * i);
    });
    return input;
}

TEST(Analysis, WorkedExampleToTheLastDigit) {
    Input input = two_arms();
    input.design.looks = {8};
    input.series[0].better = Better::lower;
    for (int i = 0; i < 8; ++i)
        for (int a = 0; a < 2; ++a)
            for (int j = 0; j < 5; ++j)
                input.observations.push_back(
                    {i + 1, a, 0, j,
                     100 + .3 * ((37 * i) % 11) + 2 * a + .5 * ((7 * i + 5 * a) % 4) + .2 * ((3 * j + i + a) % 5)});
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    ASSERT_TRUE(c.estimate.has_value());
    EXPECT_EQ(c.n, 8);
    EXPECT_EQ(c.df, 7);
    expect_relative(std::log(c.estimate->value), .01936363907);
    expect_relative(c.sd, .008989836049);
    expect_relative(c.t, 6.092284851);
    expect_relative(*c.p, .000494831151);
    expect_relative(std::log(c.estimate->low), .01184794805);
    expect_relative(std::log(c.estimate->high), .02687933009);
    expect_relative(c.estimate->level, .95);
    EXPECT_EQ(*c.p_sequential, *c.p);  // one look: nothing to count
    EXPECT_EQ(c.verdict, Verdict::regressed);
    EXPECT_FALSE(c.material);  // 1.2% to 2.7% straddles the margin of 2%
    EXPECT_TRUE(output.decided);
}

TEST(Analysis, DirectionComesFromTheMetric) {
    auto input = evaluation(1, .2, .01);
    EXPECT_EQ(analyse(input).verdict, Verdict::regressed);
    input.series[0].better = Better::higher;
    EXPECT_EQ(analyse(input).verdict, Verdict::improved);
    input.series[0].better = Better::neither;
    const auto output = analyse(input);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::none);
    EXPECT_TRUE(output.decided);
}

TEST(Analysis, EquivalentComesBeforeADifferenceAndSaysBoth) {
    const auto output = analyse(evaluation(4, .004, .002));
    const auto& c = primary_of(output, 1);
    EXPECT_EQ(c.verdict, Verdict::equivalent);
    EXPECT_GT(c.estimate->low, 1);
    EXPECT_NE(c.sentence.find("equivalent within 2%, though the small difference is statistically significant"),
              std::string::npos)
        << c.sentence;
    EXPECT_TRUE(c.reason.empty()) << c.reason;
    EXPECT_LT(*c.p_equivalence, .05);
}

TEST(Analysis, MaterialNeedsTheIntervalBeyondTheMargin) {
    EXPECT_TRUE(primary_of(analyse(evaluation(4, .10, .01)), 1).material);
    const auto near = analyse(evaluation(4, .021, .01));
    EXPECT_EQ(primary_of(near, 1).verdict, Verdict::regressed);
    EXPECT_FALSE(primary_of(near, 1).material);
}

TEST(Analysis, AnEarlyLookNeedsMoreThanTheLast) {
    // t = 3.4 at 6 blocks: p = .019 alone, but nothing when five looks are planned.
    auto input = two_arms();
    input.look = 0;
    const std::vector<double> d{.02, .05, .03, .06, .01, .05};
    fill(input, 0, 6, 1, [&](int b, int a, int) { return 100 * std::exp(a * d[static_cast<std::size_t>(b - 1)]); });
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    EXPECT_LT(*c.p, .05);
    EXPECT_GT(*c.p_sequential, .05);
    EXPECT_EQ(c.verdict, Verdict::pending);
    EXPECT_FALSE(output.decided);
    EXPECT_NE(output.sentence.find("the next look is at 10 blocks"), std::string::npos) << output.sentence;
    input.design.looks = {6};
    EXPECT_EQ(primary_of(analyse(input), 1).verdict, Verdict::regressed);
}

TEST(Analysis, IntervalAndSequentialPAgreeOnTheBound) {
    for (int look = 0; look < 5; ++look)
        for (int step = -20; step <= 20; ++step) {
            const auto output = analyse(evaluation(look, step * .004, .02));
            const auto& c = primary_of(output, 1);
            const bool excludes = c.estimate->low > 1 || c.estimate->high < 1;
            EXPECT_EQ(excludes, *c.p_sequential < .05) << look << " " << step << " " << *c.p_sequential;
        }
}

TEST(Analysis, PreviewGivesIntervalsButNoVerdict) {
    auto input = evaluation(1, .5, .01, true);
    input.look = -1;
    const auto output = analyse(input);
    EXPECT_FALSE(output.decided);
    EXPECT_EQ(output.verdict, Verdict::pending);
    for (const auto& c : output.comparisons) EXPECT_EQ(c.verdict, c.control ? Verdict::none : Verdict::pending);
    ASSERT_TRUE(primary_of(output, 1).estimate.has_value());
}

TEST(Analysis, AFailedControlMakesEverythingInvalid) {
    auto input = two_arms(true);
    input.look = 1;
    fill(input, 0, 10, 2, [](int b, int a, int) { return 100 * std::exp((a > 0 ? .2 : 0) + .01 * noise(b, a)); });
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::invalid);
    EXPECT_TRUE(output.decided);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::invalid);
    EXPECT_NE(output.sentence.find("A'"), std::string::npos);
    EXPECT_TRUE(output.trades.empty());
}

TEST(Analysis, ASmallControlDifferencePassesTheGateOfHalfAPercent) {
    auto input = evaluation(1, .2, .01, true);
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::regressed);
    const auto control = std::find_if(output.comparisons.begin(), output.comparisons.end(),
                                      [](const Comparison& c) { return c.control; });
    ASSERT_NE(control, output.comparisons.end());
    expect_relative(control->estimate->level, .995);
    EXPECT_EQ(control->verdict, Verdict::none);
}

TEST(Analysis, AFailedEnvironmentGateIsNamed) {
    auto input = evaluation(1, .2, .01);
    input.failed_gates = {"the clock source was refined-jiffies in block 3"};
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::invalid);
    EXPECT_NE(output.sentence.find("refined-jiffies"), std::string::npos);
}

TEST(Analysis, ManyArmsShareAlpha) {
    auto input = two_arms();
    input.arms.push_back({"other", 0, false, 0, 0});
    input.look = 4;
    fill(input, 0, 32, 1, [](int b, int a, int) { return 100 * std::exp((a == 1 ? .1 : 0) + .02 * noise(b, a)); });
    const auto output = analyse(input);
    expect_relative(primary_of(output, 1).estimate->level, .975);
    const auto &first = primary_of(output, 1), &second = primary_of(output, 2);
    expect_relative(*first.p_adjusted, std::min(1.0, 2 * *first.p_sequential), 1e-12);
    EXPECT_EQ(*second.p_adjusted, std::max(*second.p_sequential, *first.p_adjusted));
    EXPECT_EQ(first.verdict, Verdict::regressed);
    EXPECT_EQ(output.verdict, Verdict::regressed);  // the worst of the two
}

TEST(Analysis, InconclusiveAtTheCapSaysHowManyBlocksANewOneNeeds) {
    const auto output = analyse(evaluation(4, .012, .03));
    ASSERT_EQ(output.verdict, Verdict::inconclusive) << primary_of(output, 1).reason;
    EXPECT_TRUE(output.decided);
    ASSERT_TRUE(output.blocks_needed.has_value());
    // As many as a test with one look needs, those at hand included.
    const auto& c = primary_of(output, 1);
    const auto expected =
        std::min(blocks_for_difference(std::log(c.estimate->value) / c.sd, .025, .8).value(),
                 blocks_for_equivalence(std::log(c.estimate->value) / c.sd, std::log(1.02) / c.sd, .05, .8)
                     .value_or(most_blocks));
    EXPECT_EQ(*output.blocks_needed, expected);
    EXPECT_GT(expected, 32);
    const auto said =
        fmt::format("; a new evaluation of about {0} blocks (decide.fixed: {0}) would likely settle it", expected);
    EXPECT_NE(output.sentence.find(said), std::string::npos) << output.sentence;
    EXPECT_NE(c.sentence.find(said), std::string::npos) << c.sentence;
}

TEST(Analysis, ExactModePrintsTheDifferenceWithoutTest) {
    auto input = two_arms(true);
    input.look = 0;
    input.design.margin = 0;
    input.design.exact = true;
    fill(input, 0, 6, 2, [](int, int a, int) { return a == 1 ? 2550.0 : 2132.0; });
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    EXPECT_TRUE(c.exact);
    EXPECT_FALSE(c.p || c.p_adjusted || c.p_rank || c.p_equivalence);
    expect_relative(c.estimate->value, 2550.0 / 2132);
    EXPECT_EQ(c.estimate->low, c.estimate->high);
    EXPECT_EQ(c.verdict, Verdict::regressed);
    EXPECT_NE(c.sentence.find("exactly +19.6%"), std::string::npos) << c.sentence;
    EXPECT_EQ(output.verdict, Verdict::regressed);
}

TEST(Analysis, ExactModeNeedsAnIdenticalControl) {
    auto input = two_arms(true);
    input.look = 0;
    input.design.exact = true;
    fill(input, 0, 6, 1, [](int, int a, int) { return a == 2 ? 1001.0 : 1000.0; });
    EXPECT_EQ(analyse(input).verdict, Verdict::invalid);
}

TEST(Analysis, ExactEqualityIsEquivalentEvenWithoutMargin) {
    auto input = two_arms();
    input.look = 0;
    input.design.margin = 0;
    input.design.exact = true;
    fill(input, 0, 6, 1, [](int b, int, int) { return 1000.0 + b; });
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::equivalent);
    EXPECT_NE(primary_of(output, 1).sentence.find("exactly the same"), std::string::npos);
}

TEST(Analysis, OneWildBlockMakesTheRowFragile) {
    auto input = two_arms();
    input.design.looks = {12};
    // Eleven blocks clearly slower, one wildly faster: the ranks see what the mean does not.
    fill(input, 0, 12, 1, [](int b, int a, int) {
        return 100 * std::exp(a == 0 ? 0 : b == 12 ? -.9 : .03 + .001 * noise(b, 1));
    });
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    EXPECT_EQ(c.verdict, Verdict::inconclusive);
    EXPECT_TRUE(c.fragile);
    EXPECT_LT(*c.p_rank, .05);
    EXPECT_GT(*c.p, .05);
    EXPECT_GT(c.rank_estimate->value, 1.02);
}

TEST(Analysis, ClearDataAtTheFirstLookIsNotFragile) {
    // Six blocks cannot give a rank p below .031; all on one side is all the agreement there can be.
    const auto output = analyse(evaluation(0, .2, .01));
    EXPECT_EQ(output.verdict, Verdict::regressed);
    EXPECT_FALSE(primary_of(output, 1).fragile);
}

TEST(Analysis, OrderOfObservationsDoesNotMatter) {
    auto input = evaluation(2, .02, .03, true);
    const auto first = analyse(input);
    SplitMix random(4);
    random.shuffle(input.observations);
    const auto second = analyse(input);
    ASSERT_EQ(first.comparisons.size(), second.comparisons.size());
    for (std::size_t i = 0; i < first.comparisons.size(); ++i) {
        EXPECT_EQ(first.comparisons[i].sentence, second.comparisons[i].sentence);
        EXPECT_EQ(first.comparisons[i].estimate->value, second.comparisons[i].estimate->value);
        EXPECT_EQ(first.comparisons[i].estimate->high, second.comparisons[i].estimate->high);
    }
    EXPECT_EQ(first.components[0].boot, second.components[0].boot);
}

TEST(Analysis, ExcludedBlocksGoWhole) {
    auto input = evaluation(1, .1, .01);
    const auto all = analyse(input);
    input.excluded_blocks = {2, 9};
    const auto rest = analyse(input);
    EXPECT_EQ(all.blocks, 10);
    EXPECT_EQ(rest.blocks, 8);
    EXPECT_EQ(primary_of(rest, 1).n, 8);
    EXPECT_EQ(rest.summaries[0].boots, 8);
}

TEST(Analysis, MissingBootsAreNamedAndOnlyTheirPairsGo) {
    auto input = evaluation(1, .1, .01);
    std::erase_if(input.observations, [](const Observation& o) { return o.arm == 1 && o.block == 4; });
    const auto output = analyse(input);
    EXPECT_EQ(primary_of(output, 1).n, 9);
    EXPECT_TRUE(mentions(output.warnings, "change has no values in block 4"));
}

TEST(Analysis, OnlyCommonIterationsOfAPairAreCompared) {
    auto input = two_arms();
    input.design.looks = {6};
    // The first iteration is slow in both arms; one boot of the change lost it.
    fill(input, 0, 6, 4, [](int b, int, int i) { return (i == 0 ? 200.0 : 100.0) * (1 + .001 * noise(b, 0)); });
    std::erase_if(input.observations,
                  [](const Observation& o) { return o.arm == 1 && o.block == 2 && o.iteration == 0; });
    const auto output = analyse(input);
    EXPECT_NEAR(primary_of(output, 1).estimate->value, 1, 1e-12);
}

TEST(Analysis, AScoreMayBeADeclaredQuantile) {
    // R: quantile(c(10, 20, 30, 40, 1000), .9) is 616; the change doubles the tail alone.
    auto input = two_arms();
    input.design.looks = {6};
    input.series[0].quantile = .9;
    const double values[] = {10, 20, 30, 40, 1000};
    fill(input, 0, 6, 5,
         [&](int b, int a, int i) { return values[i] * (1 + .001 * noise(b, a)) * (a == 1 && i == 4 ? 2 : 1); });
    const auto tail = analyse(input);
    EXPECT_NEAR(primary_of(tail, 1).estimate->value, (40 + .6 * 1960) / 616, .005);
    EXPECT_EQ(primary_of(tail, 1).verdict, Verdict::regressed);
    EXPECT_TRUE(tail.components.empty());
    input.series[0].quantile = .5;
    EXPECT_NEAR(primary_of(analyse(input), 1).estimate->value, 1, .005);
    // Only common iterations are compared, also by quantiles.
    std::erase_if(input.observations,
                  [](const Observation& o) { return o.arm == 0 && o.block == 3 && o.iteration == 0; });
    EXPECT_NEAR(primary_of(analyse(input), 1).estimate->value, 1, .005);
    input.series[0].quantile = 2;
    EXPECT_TRUE(mentions(analyse(input).warnings, "a quantile must lie between 0 and 1"));
}

TEST(Analysis, SummariesAreOfBootMeansInTheUnit) {
    const auto output = analyse(evaluation(0, .5, .02));
    ASSERT_EQ(output.summaries.size(), 2U);
    EXPECT_EQ(output.summaries[1].boots, 6);
    EXPECT_EQ(output.summaries[1].values, 18);
    EXPECT_NEAR(output.summaries[1].mean, 150, 5);
    EXPECT_GT(output.summaries[1].relative_sd.value(), .005);
    EXPECT_LE(output.summaries[1].min, output.summaries[1].mean);
}

}  // namespace
}  // namespace kab::stats
