// The order of the verdicts, and what may not pass for one.
#include <algorithm>
#include <cmath>
#include <map>

#include "daemon/stats/analysis.h"
#include "daemon/stats/verdict.h"
#include "tests/unit/stats/near.h"
#include "tests/unit/stats/three_arms.h"

namespace kab::stats {
namespace {

// ---- the control ----

TEST(Control, ThatWasNeverMeasuredVouchesForNothing) {
    auto input = three_arms(0, -.2, 0);
    forget(input, 3);
    input.arms[3].failed = 6;
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::invalid);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::invalid);
    EXPECT_TRUE(contains(output.sentence, "the control A' could not be measured")) << output.sentence;
}

TEST(Control, ThatWillNeverBeMeasuredDoesNotVouchForSecondariesEither) {
    auto input = three_arms(0, 0, 0, .05);
    input.series.push_back({"w", "", "task-clock", "ns", Better::lower, Scale::log, false});
    fill(input, 1, 6, 1, [](int b, int a, int) { return 100 * std::exp((a == 1 ? .5 : 0) + .01 * noise(b, a, 2)); });
    forget(input, 3);
    auto output = analyse(input);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::pending);  // it may yet come
    EXPECT_NE(output.verdict, Verdict::invalid);
    keeps_failing(input, 3, 4, 4);
    output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::invalid);
    for (const auto& c : output.comparisons) EXPECT_TRUE(c.control || c.verdict == Verdict::invalid) << c.sentence;
}

TEST(Control, ThatFailsWhereItsTwinDoesNotFailsTheGate) {
    auto input = three_arms(4, 0, 0);
    input.arms[3].failed = 20;
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::invalid);
    EXPECT_TRUE(contains(output.sentence, "A' fails otherwise than base though it is the same kernel: 20 of 32 boots"))
        << output.sentence;
    input.arms[3].failed = 3;
    EXPECT_NE(analyse(input).verdict, Verdict::invalid);
}

TEST(Control, AFailedGateGivesIntervalBlocksAndP) {
    Input input = two_arms(true);
    input.look = 1;
    fill(input, 0, 10, 2, [](int b, int a, int) { return 100 * std::exp((a > 0 ? .2 : 0) + .01 * noise(b, a)); });
    const auto output = analyse(input);
    EXPECT_TRUE(contains(output.sentence, "99.5% interval")) << output.sentence;
    EXPECT_TRUE(contains(output.sentence, "10 blocks, p < 0.0001")) << output.sentence;
    EXPECT_TRUE(contains(primary_of(output, 1).reason, "the control A' differs from base"));
    EXPECT_TRUE(contains(primary_of(output, 1).sentence, "adjusted p"));
}

TEST(SameCode, IsNeverAnImprovement) {
    // A difference that would pass at 5% but not at the gate's half a percent.
    auto input = three_arms(4, -.0035, -.2, .005);
    EXPECT_EQ(primary_of(analyse(input), 1).verdict, Verdict::equivalent);
    input.design.margin = 0;
    ASSERT_EQ(primary_of(analyse(input), 1).verdict, Verdict::improved);
    input.arms[1].same_code = true;
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    EXPECT_TRUE(c.same_code);
    EXPECT_EQ(c.verdict, Verdict::inconclusive) << c.sentence;
    EXPECT_TRUE(contains(c.sentence, "the machine code is the same")) << c.sentence;
    EXPECT_EQ(primary_of(output, 2).verdict, Verdict::improved);
}

TEST(SameCode, ThatDiffersClearlyFailsTheGate) {
    auto input = three_arms(0, -.2, 0);
    input.arms[1].same_code = true;
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::invalid);
    EXPECT_TRUE(contains(output.sentence, "change differs from base though it is the same machine code: w/elapsed -"))
        << output.sentence;
    EXPECT_TRUE(contains(output.sentence, "99.5% interval")) << output.sentence;
}

TEST(SameCode, ThatIsAlikeIsEquivalent) {
    auto input = three_arms(4, 0, 0);
    input.arms[1].same_code = true;
    EXPECT_EQ(primary_of(analyse(input), 1).verdict, Verdict::equivalent);
}

// ---- differences that do not vary ----

TEST(NoVariation, TwoBlocksAreNoProof) {
    Input input = two_arms();
    input.design.looks = {2};
    input.series[0].scale = Scale::linear;
    fill(input, 0, 2, 1, [](int b, int a, int) { return 100.0 + b + a; });
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    EXPECT_TRUE(c.exact);
    EXPECT_EQ(c.verdict, Verdict::inconclusive) << c.sentence;
    EXPECT_EQ(c.p.value(), .5);
    EXPECT_EQ(c.estimate->level, .5);  // all that two blocks can give
}

TEST(NoVariation, EnoughBlocksAreByTheSignTest) {
    for (const int blocks : {5, 6}) {
        Input input = two_arms();
        input.design.looks = {blocks};
        input.design.margin = 0;
        fill(input, 0, blocks, 1, [](int, int a, int) { return a == 1 ? 110.0 : 100.0; });
        const auto output = analyse(input);
        const auto& c = primary_of(output, 1);
        EXPECT_EQ(c.p.value(), std::ldexp(1, 1 - blocks));
        EXPECT_EQ(c.verdict, blocks == 5 ? Verdict::inconclusive : Verdict::regressed) << c.sentence;
        EXPECT_TRUE(contains(c.sentence, "in each of")) << c.sentence;
        EXPECT_TRUE(contains(c.sentence, "adjusted p = 0.0")) << c.sentence;
    }
}

TEST(NoVariation, EqualityAlsoNeedsBlocks) {
    Input input = two_arms();
    input.look = 0;
    fill(input, 0, 6, 1, [](int b, int, int) { return 100.0 + b; });
    EXPECT_EQ(primary_of(analyse(input), 1).verdict, Verdict::pending);
    input.look = 4;
    fill(input, 0, 32, 1, [](int b, int, int) { return b <= 6 ? std::nan("") : 100.0 + b; });
    std::erase_if(input.observations, [](const Observation& o) { return std::isnan(o.value); });
    EXPECT_EQ(primary_of(analyse(input), 1).verdict, Verdict::equivalent);
}

// ---- material, trades, fragile ----

TEST(Margin, WithoutOneNothingIsMaterialAndNothingATrade) {
    Input input = two_arms();
    input.series.push_back({"w", "", "task-clock", "ns", Better::lower, Scale::log, false});
    input.design.margin = 0;
    input.look = 4;
    fill(input, 0, 32, 1, [](int b, int a, int) { return 100 * std::exp(-.1 * a + .01 * noise(b, a)); });
    fill(input, 1, 32, 1, [](int b, int a, int) { return 100 * std::exp(.1 * a + .01 * noise(b, a, 2)); });
    const auto output = analyse(input);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::improved);
    for (const auto& c : output.comparisons) EXPECT_FALSE(c.material) << c.sentence;
    EXPECT_TRUE(output.trades.empty());
}

TEST(Fragile, IsNotSaidWhereOnlyTheAdjustmentHidesADifference) {
    // Many secondaries: t and ranks agree that one differs, its adjusted p does not suffice.
    Input input = two_arms();
    for (int s = 0; s < 40; ++s)
        input.series.push_back({"w", "", "m" + std::to_string(s), "ns", Better::lower, Scale::log, false});
    input.design.looks = {16};
    for (int s = 0; s < 41; ++s)
        fill(input, s, 16, 1, [&](int b, int a, int) {
            const double effect = s == 40 && a == 1 ? .036 : 0;
            return 100 * std::exp(effect + .03 * noise(b, a, static_cast<std::uint64_t>(s + 7)));
        });
    const auto output = analyse(input);
    const auto found = std::find_if(output.comparisons.begin(), output.comparisons.end(),
                                    [](const Comparison& c) { return c.metric == "m39"; });
    ASSERT_NE(found, output.comparisons.end());
    ASSERT_LT(*found->p, .05);
    ASSERT_LT(*found->p_rank, .05);
    ASSERT_GT(*found->p_adjusted, .05);
    EXPECT_EQ(found->verdict, Verdict::inconclusive);
    EXPECT_FALSE(found->fragile) << found->sentence;
}

// ---- families and looks ----

TEST(Families, AComparisonWithoutAPCountsAllTheSame) {
    auto input = three_arms(4, .1, 0, .02);
    const double with_both = *primary_of(analyse(input), 1).p_adjusted;
    forget(input, 2);
    const auto output = analyse(input);
    EXPECT_FALSE(primary_of(output, 2).p_adjusted.has_value());
    EXPECT_EQ(*primary_of(output, 1).p_adjusted, with_both);
    expect_relative(*primary_of(output, 1).p_adjusted, 2 * *primary_of(output, 1).p_sequential, 1e-12);
}

/// change improves clearly in the first six blocks and not at all later.
Input falls_back(int look) {
    Input input = two_arms();
    input.arms.push_back({"other", 0, false, 0, 0});
    input.look = look;
    input.design.margin = 0;
    fill(input, 0, blocks_at(input, look), 1, [](int b, int a, int) {
        const double effect = a == 1 ? (b <= 6 ? -.06 : .03) : 0;
        return 100 * std::exp(effect + .005 * noise(b, a));
    });
    return input;
}

TEST(Looks, AVerdictIsNotTakenBack) {
    ASSERT_EQ(primary_of(analyse(falls_back(0)), 1).verdict, Verdict::improved);
    const auto output = analyse(falls_back(1));
    const auto& c = primary_of(output, 1);
    EXPECT_EQ(c.verdict, Verdict::improved) << c.sentence;
    EXPECT_EQ(c.decided_at, 0);
    EXPECT_EQ(c.n, 10);
    EXPECT_TRUE(contains(c.sentence, "decided at look 1 of 5")) << c.sentence;
    EXPECT_FALSE(primary_of(output, 2).decided_at.has_value());
}

/// change improves by much more than the margin of 2% in the first six blocks, by about as much as that later; or the
/// other way round.
Input comes_near_the_margin(int look, bool at_first) {
    Input input = falls_back(look);
    input.observations.clear();
    input.design.margin = .02;
    fill(input, 0, blocks_at(input, look), 1, [&](int b, int a, int) {
        const double effect = a == 1 ? ((b <= 6) == at_first ? -.06 : -.021) : 0;
        return 100 * std::exp(effect + .002 * noise(b, a));
    });
    return input;
}

TEST(Looks, ThatAVerdictWasMaterialIsNotTakenBackAndSaidToBeOfThen) {
    ASSERT_TRUE(primary_of(analyse(comes_near_the_margin(0, true)), 1).material);
    auto output = analyse(comes_near_the_margin(2, true));
    const auto* c = &primary_of(output, 1);
    EXPECT_EQ(c->verdict, Verdict::improved);
    EXPECT_TRUE(c->material);
    EXPECT_EQ(c->decided_at, 0);
    ASSERT_GT(c->estimate->high, 1 / 1.02) << "the interval of this look reaches into the margin";
    EXPECT_TRUE(contains(c->sentence,
                         "by more than the margin of 2%; decided at look 1 of 5, what came later would "
                         "not show that it exceeds the margin"))
        << c->sentence;

    ASSERT_FALSE(primary_of(analyse(comes_near_the_margin(0, false)), 1).material);
    output = analyse(comes_near_the_margin(4, false));
    c = &primary_of(output, 1);
    ASSERT_EQ(c->verdict, Verdict::improved) << c->sentence;
    EXPECT_FALSE(c->material);
    ASSERT_LT(c->estimate->high, 1 / 1.02) << "the interval of this look lies beyond the margin";
    EXPECT_TRUE(contains(c->sentence,
                         "perhaps by less than the margin of 2%; decided at look 1 of 5, what came later "
                         "would show that it exceeds the margin"))
        << c->sentence;
}

TEST(Looks, ASweepIsCarriedByItsMean) {
    Input input = falls_back(1);
    input.series.push_back({"w", "tasks=4", "elapsed", "ns", Better::lower, Scale::log, true});
    input.series[0].point = "tasks=1";
    auto more = input.observations;
    for (auto& o : more) o.series = 1;
    input.observations.insert(input.observations.end(), more.begin(), more.end());
    const auto output = analyse(input);
    EXPECT_EQ(primary_of(output, 1).series, -1);
    EXPECT_EQ(primary_of(output, 1).decided_at, 0);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::improved);
}

TEST(Looks, SpendMoreOfAlphaEachTime) {
    double before = 0;
    for (int look = 0; look < 5; ++look) {
        const double spent = primary_of(analyse(three_arms(look, 0, 0)), 1).spent;
        EXPECT_GT(spent, before);
        before = spent;
    }
    expect_relative(before, .025);  // two arms share .05
}

TEST(MoreBlocks, AreToldForEachComparisonAndOnlyWhereThereIsHope) {
    auto input = three_arms(4, .012, .0, .03);
    input.design.margin = .015;
    const auto output = analyse(input);
    int most = 0;
    for (const auto& c : output.comparisons)
        if (c.primary && !c.control && c.verdict == Verdict::inconclusive) {
            ASSERT_TRUE(c.blocks_needed.has_value()) << c.sentence;
            EXPECT_TRUE(contains(c.sentence, "would likely settle it")) << c.sentence;
            most = std::max(most, *c.blocks_needed);
        }
    EXPECT_EQ(output.blocks_needed, most);
    // Up and down by turns: no margin, no difference, and no number of blocks that settles it.
    input.design.margin = 0;
    std::map<int, double> base;
    for (const auto& o : input.observations)
        if (o.arm == 0) base[o.block] = o.value;
    for (auto& o : input.observations)
        if (o.arm == 2) o.value = base[o.block] * std::exp(o.block % 2 == 0 ? .03 : -.03);
    const auto hopeless = analyse(input);
    EXPECT_EQ(primary_of(hopeless, 2).verdict, Verdict::inconclusive);
    EXPECT_FALSE(primary_of(hopeless, 2).blocks_needed.has_value());
    EXPECT_FALSE(hopeless.blocks_needed.has_value());
}

TEST(MoreBlocks, AreToldOnlyAsFarAsTheyCanBeDeclared) {
    const auto settled_by = [](double effect, bool paired) {
        Input input = two_arms();
        input.design.margin = 0;
        input.design.paired = paired;
        input.design.looks = paired ? std::vector<int>{128} : std::vector<int>{};
        fill(input, 0, 128, 1, [&](int b, int a, int) {
            return 100 * std::exp(a == 0 ? 0 : .01 * (b % 2 == 0 ? 1 : -1) + .01 * effect);
        });
        const auto output = analyse(input);
        EXPECT_EQ(primary_of(output, 1).verdict, Verdict::inconclusive);
        EXPECT_EQ(contains(output.sentence, "would likely settle it"), output.blocks_needed.has_value());
        return output.blocks_needed;
    };
    ASSERT_TRUE(settled_by(.1, true).has_value());
    EXPECT_LE(*settled_by(.1, true), most_declared_blocks);
    EXPECT_FALSE(settled_by(.08, true).has_value());
    ASSERT_TRUE(settled_by(.08, false).has_value());
    EXPECT_GT(*settled_by(.08, false), most_declared_blocks);
}

TEST(Unpaired, SpeaksOfBootsNotOfBlocks) {
    Input input = two_arms();
    input.design.paired = false;
    input.design.looks = {};
    SplitMix random(3);
    for (int i = 0; i < 10; ++i)
        for (int a = 0; a < 2; ++a) input.observations.push_back({i + 1, a, 0, 0, 100 + normal(random)});
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    EXPECT_TRUE(contains(c.sentence, "10 boots")) << c.sentence;
    EXPECT_FALSE(contains(c.sentence, "block")) << c.sentence;
    EXPECT_FALSE(contains(output.sentence, "block")) << output.sentence;
    EXPECT_TRUE(contains(output.sentence, "20 boots")) << output.sentence;
}

TEST(Components, UnknownVariancesAreAbsentNotZero) {
    Input input = two_arms();
    input.look = 0;
    fill(input, 0, 6, 1, [](int b, int a, int) { return 100 + noise(b, a); });
    auto output = analyse(input, 1e9, 1e8);
    ASSERT_EQ(output.components.size(), 1U);
    EXPECT_TRUE(output.components[0].boot.has_value());
    EXPECT_FALSE(output.components[0].iteration.has_value());  // one iteration a boot
    EXPECT_FALSE(output.components[0].trend.has_value());
    EXPECT_FALSE(output.components[0].best_iterations.has_value());
    std::erase_if(input.observations, [](const Observation& o) { return o.block > 1; });
    output = analyse(input);
    EXPECT_FALSE(output.components[0].boot.has_value());
    EXPECT_FALSE(output.components[0].block.has_value());
    EXPECT_FALSE(output.summaries[0].relative_sd.has_value());  // one boot
}

TEST(Sweep, PointsLeftOutAreNamedForAllMetrics) {
    Input input = two_arms();
    input.series.clear();
    for (const char* metric : {"elapsed", "task-clock"})
        for (const char* point : {"tasks=1", "tasks=2"})
            input.series.push_back({"w", point, metric, "ns", Better::lower, Scale::log, metric[0] == 'e'});
    input.look = 4;
    for (int s = 0; s < 4; ++s)
        fill(input, s, 32, 1, [&](int b, int a, int) { return 1000 * std::exp(.01 * noise(b, a)); });
    std::erase_if(input.observations, [](const Observation& o) { return o.series == 3 && o.arm == 1; });
    const auto output = analyse(input);
    EXPECT_TRUE(mentions(output.warnings, "w, mean over points of task-clock (change): tasks=2 is left out"));
    EXPECT_FALSE(mentions(output.warnings, "mean over points of elapsed"));
}

}  // namespace
}  // namespace kab::stats
