// figures() is analyse() without words: every figure the same bit for bit, no sentence and no warning.
#include "daemon/stats/figures.h"

#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "tests/unit/stats/made.h"

namespace kab::stats {
namespace {

auto all_of(const std::optional<Estimate>& e) {
    return e ? std::optional(std::tuple(e->value, e->low, e->high, e->level)) : std::nullopt;
}

auto all_of(const Comparison& c) {
    return std::tuple_cat(
        std::tuple(c.arm, c.against, c.series, c.workload, c.metric, c.n, all_of(c.estimate), c.sd, c.t, c.df, c.exact),
        std::tuple(c.p, c.p_sequential, c.p_adjusted, c.p_rank, all_of(c.rank_estimate), c.p_equivalence, c.detectable),
        std::tuple(c.margin, c.spent, c.control, c.same_code, c.relinked, c.failing, c.primary, c.material, c.fragile),
        std::tuple(c.verdict, c.decided_at, c.blocks_needed, c.reason));
}

auto all_of(const Summary& s) {
    return std::tuple(s.arm, s.series, s.boots, s.values, s.mean, s.relative_sd, s.min, s.max);
}

auto all_of(const VarianceComponents& v) {
    return std::tuple(v.series, v.block, v.boot, v.iteration, v.trend, v.best_iterations);
}

auto all_of(const ArmFailure& f) {
    return std::tuple(f.arm, f.against, f.failed, f.boots, f.against_failed, f.against_boots, f.p);
}

auto all_of(const Trade& t) {
    return std::tuple(t.arm, t.better_comparison, t.worse_comparison, t.at_point);
}

template <typename Rows>
void expect_same(const Rows& bare, const Rows& full, const char* what) {
    ASSERT_EQ(bare.size(), full.size()) << what;
    for (std::size_t i = 0; i < bare.size(); ++i)
        EXPECT_TRUE(all_of(bare[i]) == all_of(full[i])) << what << " " << i << " differs";
}

void expect_same(const Input& input) {
    const auto full = analyse(input, 1e9, 1e8);
    const auto bare = figures(input, 1e9, 1e8);
    expect_same(bare.comparisons, full.comparisons, "comparison");
    expect_same(bare.summaries, full.summaries, "summary");
    expect_same(bare.components, full.components, "component");
    expect_same(bare.failures, full.failures, "failure");
    expect_same(bare.trades, full.trades, "trade");
    EXPECT_EQ(std::tuple(bare.verdict, bare.decided, bare.blocks, bare.blocks_needed),
              std::tuple(full.verdict, full.decided, full.blocks, full.blocks_needed));
    for (const auto& c : bare.comparisons) EXPECT_EQ(c.sentence, "");
    EXPECT_EQ(bare.sentence, "");
    EXPECT_TRUE(bare.warnings.empty());
    EXPECT_NE(full.sentence, "");
}

/// Three arms and A', two metrics that pull apart at two points, an arm that fails now and then.
Input evaluation(std::uint64_t seed, int look, bool exact) {
    Input input = two_arms(true);
    input.arms.insert(input.arms.end() - 1, {"second", 0, false, 3, 20});
    input.series[0].point = "n=1";
    input.series.push_back({"w", "n=2", "elapsed", "ns", Better::lower, Scale::log, true});
    input.series.push_back({"w", "n=1", "cost", "ns", Better::lower, Scale::log, false});
    input.series.push_back({"w", "n=2", "cost", "ns", Better::lower, Scale::linear, false});
    input.look = look;
    input.design.exact = exact;
    for (int s = 0; s < 4; ++s)
        fill(input, s, blocks_at(input, look), 3, [&](int b, int a, int i) {
            const double effect = (a == 1 ? -.03 : a == 2 ? .02 : 0) * (s < 2 ? 1 : -2);
            return 1000 * std::exp(effect + (exact ? 0 : .01 * noise(b, a, seed) + .002 * noise(b, i, seed + 1)));
        });
    return input;
}

TEST(Figures, AreThoseOfTheAnalysisWithoutItsWords) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        for (int look = 0; look < 5; ++look)
            for (const bool exact : {false, true}) {
                SCOPED_TRACE(testing::Message() << "seed " << seed << ", look " << look << ", exact " << exact);
                expect_same(evaluation(seed, look, exact));
                if (testing::Test::HasFailure()) return;
            }
}

TEST(Figures, AreThoseOfTheAnalysisWhereThereIsNothingToCompute) {
    expect_same(Input{});
    Input one = two_arms(true);
    one.look = 0;
    fill(one, 0, 1, 1, [](int, int, int) { return 5.0; });
    expect_same(one);
}

}  // namespace
}  // namespace kab::stats
