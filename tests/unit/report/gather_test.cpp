#include "daemon/report/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/json.h"
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

TEST(Gather, AClockThatWasNotLookedAtYetIsNoOther) {
    const test::SampleDatabase sample;
    const auto tree = sample.store->tree(test::sample_evaluation());
    const auto samples = sample.store->samples(test::sample_evaluation());
    auto boots = sample.store->boots(test::sample_evaluation());
    ASSERT_TRUE(tree && samples && boots);
    const auto gates_with = [&](const std::string& clock) {
        auto changed = *boots;
        auto environment = parse_json(changed.front().environment).value();
        EXPECT_EQ(environment.at("clocksource"), "tsc");
        environment["clocksource"] = clock;
        changed.front().environment = dump_json(environment);
        return analysis_input(*tree, {}, *samples, changed, 0).value().failed_gates;
    };
    EXPECT_TRUE(gates_with("tsc-early").empty());
    EXPECT_EQ(gates_with("hpet").size(), 1U);
}

/// The input of boots of which the first ran under `first` and the others under `rest`, by this key of the environment.
Result<stats::Input> boots_of_two(const char* key, const char* first, const char* rest) {
    const test::SampleDatabase sample;
    const auto tree = sample.store->tree(test::sample_evaluation());
    const auto samples = sample.store->samples(test::sample_evaluation());
    auto boots = sample.store->boots(test::sample_evaluation());
    EXPECT_TRUE(tree && samples && boots);
    for (auto& boot : *boots) {
        auto environment = parse_json(boot.environment);
        if (!environment) continue;  // of a boot that was interrupted
        (*environment)["agent"] = "1.0";
        (*environment)["agent_sha256"] = "aa";
        (*environment)[key] = &boot == &boots->front() ? first : rest;
        boot.environment = dump_json(*environment);
    }
    return analysis_input(*tree, {}, *samples, *boots, 0);
}

TEST(Gather, SamplesOfTwoAgentsFailAGate) {
    const auto input = boots_of_two("agent_sha256", "aa", "bb");
    ASSERT_TRUE(input);
    EXPECT_EQ(input->failed_gates,
              std::vector<std::string>{"the boots did not run under one agent_sha256: aa in 1 boots, bb in 23 boots"});
}

TEST(Gather, SamplesUnderTwoShellsFailAGate) {
    const auto input = boots_of_two("shell_sha256", "55", "66");
    ASSERT_TRUE(input);
    EXPECT_EQ(input->failed_gates,
              std::vector<std::string>{"the boots did not run under one shell_sha256: 55 in 1 boots, 66 in 23 boots"});
    EXPECT_EQ(stats::analyse(*input).verdict, stats::Verdict::invalid);
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

/// All that the analysis of a look reads.
struct Rows {
    store::EvaluationTree tree;
    std::vector<store::KernelRow> kernels;
    std::vector<store::SampleRow> samples;
    std::vector<store::BootReport> boots;

    Rows(const test::SampleDatabase& sample, const std::string& uid = test::sample_evaluation())
        : tree(sample.store->tree(uid).value()),
          kernels(sample.store->kernels_of(uid).value()),
          samples(sample.store->samples(uid).value()),
          boots(sample.store->boots(uid).value()) {}

    stats::Input input(int look) const {
        auto result = analysis_input(tree, kernels, samples, boots, look);
        EXPECT_TRUE(result) << result.error().text();
        return result ? *result : stats::Input{};
    }
    store::ArmRow& arm(const std::string& name) {
        return *std::find_if(tree.arms.begin(), tree.arms.end(), [&](const auto& one) { return one.name == name; });
    }
    /// The boots of the arm in blocks from `first` on crash, and with the last of them the arm is stopped.
    void stop(const std::string& name, std::int64_t first, std::int64_t last, const std::string& outcome) {
        arm(name).status = "stopped";
        std::map<std::int64_t, std::int64_t> numbers;
        for (const auto& block : tree.blocks) numbers[block.id] = block.number;
        for (auto& boot : tree.boots) {
            if (boot.arm != name || numbers.at(boot.block_id) < first) continue;
            boot.status = "done";
            boot.outcome = numbers.at(boot.block_id) <= last ? outcome : "cancelled";
        }
        std::erase_if(samples, [&](const auto& sample) { return sample.arm == name && sample.block >= first; });
    }
};

TEST(Gather, AnOldLookIsReplayedBitForBit) {
    test::SampleOptions options;
    options.crashing_arm = "per-ns-work";
    options.interrupted_block = false;
    const test::SampleDatabase then(options);
    options.blocks = 12;
    const test::SampleDatabase now(options);
    Rows later(now);
    // What came after the look must not be seen in it.
    later.stop("deferred-free", 8, 10, "boot-failure");
    for (auto& boot : later.boots)
        if (boot.block == 9) boot.accel = "kvm";
    for (auto& sample : later.samples)
        if (sample.block == 11 && sample.metric == "instructions") sample.value = 1e9;
    for (auto& block : later.tree.blocks)
        if (block.number == 12) block.status = "excluded";
    const auto before = Rows(then).input(0), after = later.input(0);
    EXPECT_EQ(before.series.size(), after.series.size());
    EXPECT_EQ(before.failed_gates, after.failed_gates);
    EXPECT_EQ(before.excluded_blocks, after.excluded_blocks);
    ASSERT_EQ(before.arms.size(), after.arms.size());
    for (std::size_t i = 0; i < before.arms.size(); ++i) {
        EXPECT_EQ(before.arms[i].boots, after.arms[i].boots);
        EXPECT_EQ(before.arms[i].failed, after.arms[i].failed);
        EXPECT_EQ(before.arms[i].stopped, after.arms[i].stopped);
    }
    const auto first = to_comparison_rows(before, stats::analyse(before), 0);
    const auto second = to_comparison_rows(after, stats::analyse(after), 0);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(first[i].sentence, second[i].sentence);
        EXPECT_EQ(first[i].estimate, second[i].estimate);
        EXPECT_EQ(first[i].high, second[i].high);
        EXPECT_EQ(first[i].p_adjusted, second[i].p_adjusted);
        EXPECT_EQ(first[i].rank_low, second[i].rank_low);
        EXPECT_EQ(first[i].verdict, second[i].verdict);
    }
    EXPECT_EQ(stats::analyse(before).sentence, stats::analyse(after).sentence);
    // At the next look it is seen.
    const auto next = later.input(1);
    EXPECT_TRUE(next.arms[2].keeps_failing);
    EXPECT_FALSE(next.failed_gates.empty());
}

TEST(Gather, AnArmThatWasStoppedIsARegression) {
    test::SampleOptions options;
    options.interrupted_block = false;
    const test::SampleDatabase sample(options);
    Rows rows(sample);
    rows.stop("deferred-free", 1, 3, "boot-failure");
    const auto input = rows.input(0);
    EXPECT_TRUE(input.arms[2].stopped);
    EXPECT_EQ(input.arms[2].failed, 3);
    EXPECT_EQ(input.arms[2].boots, 3);
    const auto output = stats::analyse(input);
    EXPECT_EQ(output.verdict, stats::Verdict::regressed);
    const auto stored = to_comparison_rows(input, output, 0);
    const auto found =
        std::find_if(stored.begin(), stored.end(), [](const auto& row) { return row.arm == "deferred-free"; });
    ASSERT_NE(found, stored.end());
    EXPECT_EQ(found->verdict, "regressed");
    EXPECT_THAT(found->reason, HasSubstr("deferred-free fails to boot: 3 of 3 boots failed, 0 of 6 with inline-free"));
}

TEST(Gather, AnEvaluationThatEndsBetweenLooksIsShownAsItEnded) {
    test::SampleOptions options;
    options.interrupted_block = false;
    options.blocks = 8;
    const test::SampleDatabase sample(options);
    Rows rows(sample);
    rows.tree.evaluation.looks_done = 1;
    EXPECT_EQ(shown_look(rows.tree).value(), 0);
    rows.stop("deferred-free", 6, 8, "kernel-crash");
    rows.stop("per-ns-work", 5, 7, "hang");
    EXPECT_EQ(shown_look(rows.tree).value(), -1);
    const auto output = stats::analyse(rows.input(-1));
    EXPECT_TRUE(output.decided);
    EXPECT_EQ(output.verdict, stats::Verdict::regressed);
    rows.tree.evaluation.status = "failed";
    EXPECT_EQ(shown_look(rows.tree).value(), 0);
}

TEST(Gather, ArmsOfTheSameMachineCodeAreMarked) {
    const test::SampleDatabase sample;
    Rows rows(sample);
    ASSERT_EQ(rows.kernels.size(), 4U);
    EXPECT_FALSE(rows.input(0).arms[1].same_code);
    rows.kernels[1].code_signature = rows.kernels[0].code_signature;
    EXPECT_TRUE(rows.input(0).arms[1].same_code);
    EXPECT_FALSE(rows.input(0).arms[2].same_code);
    EXPECT_FALSE(rows.input(0).arms[3].same_code);  // the control is one anyhow
    auto& text = rows.tree.evaluation.experiment_json;
    auto experiment = parse_json(text).value();
    for (auto& arm : experiment.at("arms"))
        if (arm.at("name") == "per-ns-work") arm["kernel"]["command_line"] = "ipcns.slow=1";
    const std::string before = std::exchange(text, dump_json(experiment));
    EXPECT_FALSE(rows.input(0).arms[1].same_code);
    text = before;
    rows.kernels[1].modules = "/lib/modules/other";
    EXPECT_FALSE(rows.input(0).arms[1].same_code);
}

TEST(Gather, AllFiguresOfARowComeBackFromTheDatabase) {
    const test::SampleDatabase sample;
    const auto input = gathered(sample, 0);
    const auto rows = to_comparison_rows(input, stats::analyse(input), 0);
    const auto written = sample.store->write(
        [&](store::Writer& writer) { return writer.add_comparisons(test::sample_evaluation(), 0, rows); });
    ASSERT_TRUE(written) << written.error().text();
    const auto read = sample.store->comparisons(test::sample_evaluation()).value();
    ASSERT_EQ(read.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(read[i].p_sequential, rows[i].p_sequential);
        EXPECT_EQ(read[i].rank_estimate, rows[i].rank_estimate);
        EXPECT_EQ(read[i].rank_low, rows[i].rank_low);
        EXPECT_EQ(read[i].rank_high, rows[i].rank_high);
        EXPECT_EQ(read[i].rank_level, rows[i].rank_level);
        EXPECT_EQ(read[i].margin, rows[i].margin);
        EXPECT_EQ(read[i].spent, rows[i].spent);
        EXPECT_EQ(read[i].decided_at, rows[i].decided_at);
        EXPECT_EQ(read[i].sentence, rows[i].sentence);
    }
    EXPECT_TRUE(read.front().rank_estimate && read.front().spent && read.front().p_sequential);
}

}  // namespace
}  // namespace kab::report
