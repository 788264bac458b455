// Sweeps, secondaries, trades, failures: what shows only with several series or arms.
#include <algorithm>
#include <cmath>

#include "daemon/stats/analysis.h"
#include "tests/unit/stats/made.h"
#include "tests/unit/stats/near.h"

namespace kab::stats {
namespace {

const Comparison* find(const Output& output, int arm, int series, const std::string& metric) {
    for (const auto& c : output.comparisons)
        if (c.arm == arm && c.series == series && c.metric == metric) return &c;
    return nullptr;
}

Input sweep(int points) {
    Input input = two_arms();
    input.series.clear();
    for (int p = 0; p < points; ++p)
        input.series.push_back(
            {"proc", "tasks=" + std::to_string(1 << p), "elapsed", "ns", Better::lower, Scale::log, true});
    input.look = 4;
    return input;
}

TEST(Sweep, PrimaryIsTheGeometricMeanOverPoints) {
    auto input = sweep(3);
    const double effects[] = {.3, .1, -.1};
    for (int s = 0; s < 3; ++s)
        fill(input, s, 32, 1, [&](int b, int a, int) {
            return 1000.0 * (s + 1) * std::exp(a * effects[s] + .01 * noise(b, a, static_cast<std::uint64_t>(s)));
        });
    const auto output = analyse(input);
    const auto* mean = find(output, 1, -1, "elapsed");
    ASSERT_NE(mean, nullptr);
    EXPECT_TRUE(mean->primary);
    EXPECT_EQ(&output.comparisons.front(), mean);
    double product = 1;
    for (int s = 0; s < 3; ++s) {
        const auto* point = find(output, 1, s, "elapsed");
        ASSERT_NE(point, nullptr);
        EXPECT_FALSE(point->primary);
        product *= point->estimate->value;
    }
    expect_relative(mean->estimate->value, std::cbrt(product), 1e-12);
    EXPECT_TRUE(mentions(output.warnings, "points pull in opposite directions, better at tasks=4"));
}

TEST(Sweep, WhereOnePointDecidesThereIsNoMean) {
    auto input = sweep(3);
    for (auto& series : input.series) {
        series.apart = true;
        series.primary = series.point == "tasks=2";
    }
    const double effects[] = {.3, .1, -.1};
    for (int s = 0; s < 3; ++s)
        fill(input, s, 32, 1, [&](int b, int a, int) {
            return 1000.0 * (s + 1) * std::exp(a * effects[s] + .01 * noise(b, a, static_cast<std::uint64_t>(s)));
        });
    const auto output = analyse(input);
    EXPECT_EQ(find(output, 1, -1, "elapsed"), nullptr);
    ASSERT_EQ(output.comparisons.size(), 3U);
    const auto& deciding = output.comparisons.front();
    EXPECT_TRUE(deciding.primary);
    EXPECT_EQ(deciding.series, 1);
    EXPECT_EQ(deciding.verdict, Verdict::regressed);
    // It is judged as if it were the only point.
    auto alone = input;
    alone.series = {input.series[1]};
    alone.observations.clear();
    for (auto one : input.observations)
        if (one.series == 1) {
            one.series = 0;
            alone.observations.push_back(one);
        }
    const auto same = analyse(alone);
    EXPECT_EQ(deciding.estimate->low, same.comparisons.front().estimate->low);
    EXPECT_EQ(deciding.p_adjusted, same.comparisons.front().p_adjusted);
    for (std::size_t i = 1; i < 3; ++i) EXPECT_FALSE(output.comparisons[i].primary);
    EXPECT_EQ(find(output, 1, 2, "elapsed")->verdict, Verdict::improved);
}

TEST(Sweep, AMissingPointIsLeftOutAndNamed) {
    auto input = sweep(3);
    for (int s = 0; s < 3; ++s)
        fill(input, s, 32, 1, [&](int b, int a, int) { return 1000 * std::exp(a * .1 + .01 * noise(b, a)); });
    std::erase_if(input.observations, [](const Observation& o) { return o.series == 2 && o.arm == 1; });
    std::erase_if(input.observations, [](const Observation& o) { return o.series == 1 && o.block == 7; });
    const auto output = analyse(input);
    const auto* mean = find(output, 1, -1, "elapsed");
    EXPECT_EQ(mean->n, 31);
    EXPECT_TRUE(mentions(output.warnings, "tasks=4 is left out"));
    EXPECT_TRUE(mentions(output.warnings, "block 7 left out, a point is missing there"));
    EXPECT_FALSE(find(output, 1, 2, "elapsed")->estimate.has_value());
}

TEST(Secondaries, BenjaminiHochbergOverAllOfThem) {
    Input input = two_arms(true);
    for (int s = 0; s < 20; ++s)
        input.series.push_back({"w", "", "m" + std::to_string(s), "ns", Better::lower, Scale::log, false});
    input.look = 4;
    for (int s = 0; s < 21; ++s)
        fill(input, s, 32, 1, [&](int b, int a, int) {
            return 100 * std::exp((s < 3 && a == 1 ? .05 : 0) + .03 * noise(b, a, static_cast<std::uint64_t>(s)));
        });
    const auto output = analyse(input);
    int regressed = 0;
    for (const auto& c : output.comparisons) {
        if (c.primary || c.control) continue;
        ASSERT_TRUE(c.p_adjusted.has_value());
        EXPECT_GE(*c.p_adjusted, *c.p_sequential);
        const bool difference = c.verdict == Verdict::regressed || c.verdict == Verdict::improved;
        EXPECT_TRUE(!difference || *c.p_adjusted <= .05);
        regressed += c.verdict == Verdict::regressed ? 1 : 0;
    }
    EXPECT_EQ(regressed, 2);
    for (const auto& c : output.comparisons) EXPECT_TRUE(!c.control || !c.p_adjusted);
}

TEST(Secondaries, LinearOnesTakeTheMarginAsAShareOfTheBaseline) {
    Input input = two_arms();
    input.series.push_back({"w", "", "faults", "1", Better::lower, Scale::linear, false});
    input.look = 4;
    fill(input, 0, 32, 1, [](int b, int a, int) { return 100 * std::exp(.01 * noise(b, a)); });
    fill(input, 1, 32, 1, [](int b, int a, int) { return 500 + (a == 1 ? 100 : 0) + 5 * noise(b, a, 2); });
    const auto output = analyse(input);
    const auto* faults = find(output, 1, 1, "faults");
    EXPECT_NEAR(faults->margin.value(), 10, .2);
    EXPECT_NEAR(faults->estimate->value, 100, 5);
    EXPECT_EQ(faults->verdict, Verdict::regressed);
    EXPECT_TRUE(faults->material);
}

TEST(Trades, GainAndPriceOfOneArmAreToldTogether) {
    // Reference experiment 1: elapsed falls by 19% while CPU time rises by 61%.
    Input input = two_arms();
    input.series.push_back({"w", "", "task-clock", "ns", Better::lower, Scale::log, false});
    input.series.push_back({"w", "", "page-faults", "1", Better::lower, Scale::log, false});
    input.look = 2;
    fill(input, 0, 16, 1, [](int b, int a, int) { return 826e6 * std::exp(a * std::log(.81) + .03 * noise(b, a)); });
    fill(input, 1, 16, 1,
         [](int b, int a, int) { return 2645e6 * std::exp(a * std::log(1.61) + .05 * noise(b, a, 2)); });
    fill(input, 2, 16, 1, [](int b, int a, int) { return 37516 * std::exp(.002 * noise(b, a, 3)); });
    const auto output = analyse(input);
    ASSERT_EQ(output.trades.size(), 1U);
    const auto& better = output.comparisons[static_cast<std::size_t>(output.trades[0].better_comparison)];
    const auto& worse = output.comparisons[static_cast<std::size_t>(output.trades[0].worse_comparison)];
    EXPECT_EQ(better.metric, "elapsed");
    EXPECT_EQ(worse.metric, "task-clock");
    EXPECT_EQ(find(output, 1, 2, "page-faults")->verdict, Verdict::equivalent);
}

/// Reference experiment 1 with its sweep: what all 1000 at once do, as published (elapsed -19%, task-clock +61%), and
/// one child at a time, where elapsed changes by `elapsed_alone` (a logarithm) and CPU time rises as much.
Output published_sweep(double elapsed_alone) {
    Input input = two_arms();
    input.series.clear();
    for (const char* metric : {"elapsed", "task-clock"})
        for (const char* point : {"concurrency=1", "concurrency=0"})
            input.series.push_back(
                {"ipcns-exit", point, metric, "ns", Better::lower, Scale::log, metric == std::string("elapsed")});
    input.look = 1;
    const double effects[] = {elapsed_alone, std::log(.667024 / .826165), std::log(1.61), std::log(4248.85 / 2645.85)};
    const double spread[] = {.01, .0126, .03, .0343};
    for (int s = 0; s < 4; ++s)
        fill(input, s, 10, 1, [&](int b, int a, int) {
            return 1e9 * std::exp(a * effects[s] + spread[s] * noise(b, a, static_cast<std::uint64_t>(s)));
        });
    return analyse(input);
}

/// "better at POINT, worse at POINT" of each trade; a mean has no point.
std::vector<std::string> trade_points(const Output& output) {
    std::vector<std::string> all;
    for (const auto& trade : output.trades) {
        const auto text = [&](int i) {
            const auto& c = output.comparisons[static_cast<std::size_t>(i)];
            return c.metric + (c.series < 0 ? "" : c.series % 2 == 0 ? " at 1" : " at 0");
        };
        all.push_back(text(trade.better_comparison) + ", " + text(trade.worse_comparison));
    }
    return all;
}

TEST(Trades, OfASweepAreToldByItsMeanWhereThatShowsThem) {
    EXPECT_EQ(trade_points(published_sweep(-.15)), std::vector<std::string>{"elapsed, task-clock"});
}

TEST(Trades, AtAPointAreFoundWhereTheMeanOverPointsHidesThem) {
    // One at a time elapsed rises by as much as it falls when all go at once.
    const auto output = published_sweep(-std::log(.667024 / .826165));
    EXPECT_EQ(find(output, 1, -1, "elapsed")->verdict, Verdict::equivalent);
    EXPECT_EQ(trade_points(output), std::vector<std::string>{"elapsed at 0, task-clock at 0"});
    EXPECT_TRUE(output.trades.at(0).at_point);
    EXPECT_FALSE(published_sweep(-.15).trades.at(0).at_point);
}

TEST(Failures, AreComparedByFishersTest) {
    Input input = two_arms();
    input.look = 4;
    input.arms[0].boots = input.arms[1].boots = 32;
    input.arms[1].failed = 8;
    fill(input, 0, 32, 1, [](int b, int a, int) { return 100 * std::exp(.01 * noise(b, a)); });
    const auto output = analyse(input);
    ASSERT_EQ(output.failures.size(), 1U);
    ASSERT_TRUE(output.failures[0].p.has_value());
    EXPECT_LT(*output.failures[0].p, .01);
    EXPECT_TRUE(mentions(output.warnings, "failed boots: 8 of 32 with change, 0 of 32 with base"));
}

TEST(Failures, AnArmThatNeverBootsIsToldApartFromNoData) {
    Input input = two_arms();
    input.look = 4;
    input.arms[0].boots = input.arms[1].boots = 32;
    input.arms[1].failed = 32;
    fill(input, 0, 32, 1, [](int b, int a, int) { return 100 * std::exp(.01 * noise(b, a)); });
    std::erase_if(input.observations, [](const Observation& o) { return o.arm == 1; });
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    EXPECT_EQ(c.n, 0);
    EXPECT_FALSE(c.estimate.has_value());
    EXPECT_NE(c.reason.find("no block has values of both arms"), std::string::npos) << c.reason;
    EXPECT_EQ(output.verdict, Verdict::inconclusive);
    EXPECT_TRUE(output.decided);
    EXPECT_LT(*output.failures[0].p, 1e-10);
}

TEST(Baselines, EachArmIsJudgedAgainstItsOwn) {
    Input input = two_arms();
    input.arms.push_back({"base 2", -1, false, 0, 0});
    input.arms.push_back({"change 2", 2, false, 0, 0});
    input.look = 4;
    const double level[] = {0, .1, .5, .5};
    fill(input, 0, 32, 1, [&](int b, int a, int) { return 100 * std::exp(level[a] + .01 * noise(b, a)); });
    const auto output = analyse(input);
    ASSERT_EQ(output.comparisons.size(), 2U);
    EXPECT_NEAR(primary_of(output, 1).estimate->value, 1.105, .01);
    EXPECT_NEAR(primary_of(output, 3).estimate->value, 1, .01);
}

TEST(Components, FindTheSpreadsThatWerePutIn) {
    Input input = two_arms();
    input.look = 0;
    input.design.looks = {400};
    fill(input, 0, 400, 6, [&](int b, int a, int i) {
        return 100 * std::exp(.03 * noise(b, 99) + .02 * noise(b, a) +
                              .01 * noise(b, a, static_cast<std::uint64_t>(50 + i)) - .004 * i);
    });
    const auto output = analyse(input, 8e9, 1e9);
    ASSERT_EQ(output.components.size(), 1U);
    const auto& c = output.components[0];
    EXPECT_NEAR(std::sqrt(c.block.value()), .03, .003);
    EXPECT_NEAR(std::sqrt(c.boot.value()), .02, .0015);
    EXPECT_NEAR(std::sqrt(c.iteration.value()), .01, .0004);
    EXPECT_NEAR(c.trend.value(), -.004, .0004);
    EXPECT_EQ(c.best_iterations, 1);  // sqrt(8 x .25) = 1.4
    EXPECT_TRUE(mentions(output.warnings, "the runs of a boot have a trend, -0.4"));
}

/// Points that share the luck of their boot, if `shared`, or have one each.
Output swept_components(int points, bool shared, double cost_boot, double cost_iteration) {
    Input input = two_arms();
    input.look = 0;
    input.design.looks = {600};
    input.series.clear();
    for (int p = 0; p < points; ++p)
        input.series.push_back(
            {"w", "tasks=" + std::to_string(p + 1), "elapsed", "ns", Better::lower, Scale::log, true});
    for (int p = 0; p < points; ++p)
        fill(input, p, 600, 4, [&](int b, int a, int i) {
            const auto luck = static_cast<std::uint64_t>(shared ? 1 : 1000 + p);
            return (100 + p) *
                   std::exp(.02 * noise(b, a, luck) + .04 * noise(b, a, static_cast<std::uint64_t>(50 + 10 * p + i)));
        });
    return analyse(input, cost_boot, cost_iteration);
}

TEST(Components, OfASweepAdviseOnItsMean) {
    // One more iteration is a run at each of the points. Their mean has a fourth of the spread of runs and, where the
    // points share their boot's luck, all of that of boots: sqrt(64 / 4 x (.0016 / 4) / .0004) = 4.
    for (const auto& c : swept_components(4, true, 64e9, 4e9).components) EXPECT_EQ(c.best_iterations, 4);
    // Else a fourth of that, too: sqrt(16 x 4) = 8.
    for (const auto& c : swept_components(4, false, 64e9, 4e9).components)
        EXPECT_NEAR(c.best_iterations.value(), 8, 1.5);
    // A single point has no mean: sqrt(16 x 4) = 8.
    for (const auto& c : swept_components(1, true, 64e9, 4e9).components)
        EXPECT_NEAR(c.best_iterations.value(), 8, 1.5);
}

TEST(Trends, OfTheManyPointsOfASweepAreJudgedTogether) {
    // Twenty points without a trend; with each of these seeds one of them has p < 1% alone, by luck.
    const auto input_of = [](std::uint64_t seed, double trend) {
        Input input = two_arms();
        input.look = 2;
        for (int p = 0; p < 20; ++p) {
            if (p > 0) input.series.push_back(input.series[0]);
            input.series.back().point = "tasks=" + std::to_string(p + 1);
            fill(input, p, 16, 4, [&](int b, int a, int i) {
                return 100 * std::exp(.01 * noise(b, a, seed + static_cast<std::uint64_t>(100 + 10 * p + i)) +
                                      (p == 7 ? trend * i : 0));
            });
        }
        return input;
    };
    for (const std::uint64_t seed : {26000U, 29000U, 36000U, 44000U, 46000U})
        EXPECT_FALSE(mentions(analyse(input_of(seed, 0)).warnings, "more warm-ups may help")) << seed;
    EXPECT_TRUE(mentions(analyse(input_of(0, .01)).warnings, "(tasks=8): the runs of a boot have a trend, +"));
}

TEST(Trends, AreSeenWhereAQuantileIsCompared) {
    Input input = two_arms();
    input.look = 2;
    input.series[0].quantile = .5;
    fill(input, 0, 16, 5, [&](int b, int a, int i) {
        return 100 * std::exp(.005 * noise(b, a, static_cast<std::uint64_t>(50 + i)) - .02 * i);
    });
    const auto output = analyse(input);
    EXPECT_TRUE(output.components.empty());
    EXPECT_TRUE(mentions(output.warnings, "the runs of a boot have a trend, -")) << output.warnings.size();
}

TEST(Components, WarnWhenArmsChangeOtherwiseWithinABoot) {
    Input input = two_arms();
    input.look = 2;
    fill(input, 0, 16, 5, [&](int b, int a, int i) {
        return 100 * std::exp(.005 * noise(b, a, static_cast<std::uint64_t>(50 + i)) - (a == 1 ? .03 * i : 0));
    });
    EXPECT_TRUE(mentions(analyse(input).warnings, "the runs of a boot change otherwise in change than in base"));
}

TEST(Unpaired, WelchAndMannWhitneyWhereThereAreNoBlocks) {
    Input input = two_arms();
    input.design.paired = false;
    input.design.looks = {};
    const double gob_old[] = {3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062};
    const double gob_new[] = {3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062};
    for (int i = 0; i < 10; ++i) input.observations.push_back({i + 1, 0, 0, 0, gob_old[i]});
    for (int i = 0; i < 10; ++i) input.observations.push_back({i + 101, 1, 0, 0, gob_new[i]});
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    EXPECT_EQ(c.n, 10);
    expect_relative(*c.p_rank, .4461018857);
    EXPECT_EQ(c.verdict, Verdict::equivalent) << c.reason;
    EXPECT_TRUE(mentions(output.warnings, "not paired in blocks"));
    EXPECT_FALSE(mentions(output.warnings, "has no values in"));
}

/// Runs of base and of change, in files of their own.
Output unpaired(const std::vector<double>& base, const std::vector<double>& change) {
    Input input = two_arms();
    input.design.paired = false;
    input.design.looks = {};
    int block = 0;
    for (const double value : base) input.observations.push_back({++block, 0, 0, 0, value});
    for (const double value : change) input.observations.push_back({++block, 1, 0, 0, value});
    return analyse(input);
}

TEST(Unpaired, OfFewRunsTheLeastPOfRanksCountsAsAgreement) {
    const auto clear = unpaired({100, 101, 102}, {80, 81, 82});
    expect_relative(*primary_of(clear, 1).p_rank, .1);
    EXPECT_EQ(primary_of(clear, 1).verdict, Verdict::improved);
    EXPECT_FALSE(primary_of(clear, 1).fragile) << primary_of(clear, 1).sentence;
    // Ties make the least p larger; it is still the least.
    const auto tied = unpaired({100, 100, 101}, {81, 81, 82});
    expect_relative(*primary_of(tied, 1).p_rank, .1);
    EXPECT_FALSE(primary_of(tied, 1).fragile) << primary_of(tied, 1).sentence;
}

TEST(Unpaired, EquivalenceIsTestedByRanksAsWell) {
    std::vector<double> base, change, split;
    for (int i = 0; i < 20; ++i) {
        base.push_back(100 + .3 * noise(i + 1, 0));
        change.push_back(100 + .3 * noise(i + 1, 1));
        // Most lie beyond the margin of 2%, and a few far on the other side bring their mean back.
        split.push_back(100 * (i % 4 == 3 ? .94 : 1.0215) + .01 * noise(i + 1, 1));
    }
    const auto alike = unpaired(base, change);
    EXPECT_EQ(primary_of(alike, 1).verdict, Verdict::equivalent);
    EXPECT_FALSE(primary_of(alike, 1).fragile) << primary_of(alike, 1).sentence;
    const auto output = unpaired(base, split);
    ASSERT_EQ(primary_of(output, 1).verdict, Verdict::equivalent) << primary_of(output, 1).sentence;
    EXPECT_TRUE(primary_of(output, 1).fragile) << primary_of(output, 1).sentence;
}

}  // namespace
}  // namespace kab::stats
