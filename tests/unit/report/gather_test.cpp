#include "daemon/report/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/database/sample_database.h"

namespace kab::report {
namespace {

using testing::HasSubstr;

stats::Input gathered(const test::SampleDatabase& sample, int look) {
    auto input = gather_analysis(*sample.store, test::sample_evaluation(), look);
    EXPECT_TRUE(input) << input.error().text();
    return input ? *input : stats::Input{};
}

TEST(Gather, TakesTheDesignFromTheStoredExperiment) {
    const test::SampleDatabase sample;
    const auto input = gathered(sample, 0);
    EXPECT_EQ(input.design.looks, (std::vector<int>{6, 10, 16, 24, 32}));
    EXPECT_DOUBLE_EQ(input.design.margin, 0.02);
    EXPECT_DOUBLE_EQ(input.design.alpha, 0.05);
    EXPECT_FALSE(input.design.fixed);
    ASSERT_EQ(input.arms.size(), 4U);
    EXPECT_EQ(input.arms[0].against, -1);
    EXPECT_EQ(input.arms[2].against, 0);
    EXPECT_TRUE(input.arms[3].control);
    EXPECT_TRUE(input.series[0].primary);
    EXPECT_EQ(input.series[0].metric, "elapsed");
    EXPECT_EQ(input.look, 0);
}

TEST(Gather, LeavesOutWarmUpsAndAbsentCounters) {
    const test::SampleDatabase sample;
    const auto input = gathered(sample, 0);
    // elapsed, backlog: 5 timed iterations; the two counter-run metrics and 4 software counters: 2 counted ones
    EXPECT_EQ(input.series.size(), 8U);
    EXPECT_EQ(input.observations.size(), 6U * 4 * (2 * 5 + 6 * 2));
}

TEST(Gather, ALookUsesItsOwnBlocksOnly) {
    test::SampleOptions options;
    options.blocks = 8;
    const test::SampleDatabase sample(options);
    const auto last = [](const stats::Input& input) {
        int block = 0;
        for (const auto& one : input.observations) block = std::max(block, one.block);
        return block;
    };
    EXPECT_EQ(last(gathered(sample, 0)), 6);
    EXPECT_EQ(last(gathered(sample, -1)), 8);
    const auto beyond = gather_analysis(*sample.store, test::sample_evaluation(), 5);
    ASSERT_FALSE(beyond);
    EXPECT_THAT(beyond.error().text(), HasSubstr("look 5 is not one of the 5 planned"));
}

TEST(Gather, CountsFaultsOfTheKernelOnly) {
    test::SampleOptions options;
    options.crashing_arm = "deferred-free";
    const test::SampleDatabase sample(options);
    const auto input = gathered(sample, 0);
    EXPECT_EQ(input.arms[2].failed, 2);
    // Six blocks, and the interrupted one where its boot had ended or was cancelled.
    EXPECT_GE(input.arms[2].boots, 6);
    EXPECT_EQ(input.arms[0].failed, 0);
    EXPECT_TRUE(input.failed_gates.empty());
}

TEST(Gather, BootsOnUnlikeMachinesFailAGate) {
    const test::SampleDatabase sample;
    const auto tree = sample.store->tree(test::sample_evaluation());
    const auto samples = sample.store->samples(test::sample_evaluation());
    auto boots = sample.store->boots(test::sample_evaluation());
    ASSERT_TRUE(tree && samples && boots);
    boots->front().accel = "kvm";
    const auto input = analysis_input(*tree, {}, *samples, *boots, 0);
    ASSERT_TRUE(input);
    ASSERT_EQ(input->failed_gates.size(), 1U);
    EXPECT_EQ(input->failed_gates[0], "the boots did not run under one acceleration: kvm in 1 boots, tcg in 23 boots");
    EXPECT_EQ(stats::analyse(*input).verdict, stats::Verdict::invalid);
}

TEST(Gather, VerdictsGoBackIntoTheDatabase) {
    test::SampleOptions options;
    options.swept = true;
    const test::SampleDatabase sample(options);
    const auto input = gathered(sample, 0);
    const auto output = stats::analyse(input);
    const auto rows = to_comparison_rows(input, output, 0);
    ASSERT_EQ(rows.size(), output.comparisons.size());
    const auto written = sample.store->write(
        [&](store::Writer& writer) { return writer.add_comparisons(test::sample_evaluation(), 0, rows); });
    ASSERT_TRUE(written) << written.error().text();
    const auto read = sample.store->comparisons(test::sample_evaluation());
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), rows.size());
    EXPECT_EQ(read->front().point, "*");
    EXPECT_EQ(read->front().estimate, rows.front().estimate);
    EXPECT_EQ(read->front().verdict, rows.front().verdict);
}

TEST(Gather, AStoredExperimentWithoutADecisionIsNamed) {
    const test::SampleDatabase sample;
    auto tree = sample.store->tree(test::sample_evaluation());
    ASSERT_TRUE(tree);
    tree->evaluation.experiment_json = R"({"experiment": "x"})";
    const auto input = analysis_input(*tree, {}, {}, {}, 0);
    ASSERT_FALSE(input);
    EXPECT_THAT(input.error().text(), HasSubstr("missing 'decide'"));
}

}  // namespace
}  // namespace kab::report
