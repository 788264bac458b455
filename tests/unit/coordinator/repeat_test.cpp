// Blocks that are booted again: for noise, for limits.block, with bounds that a restart does not reset.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/coordinator/core/step.h"
#include "daemon/coordinator/restore.h"
#include "daemon/spec/experiment_json.h"
#include "tests/unit/coordinator/two_arms.h"

namespace kab::core {
namespace {

using testing::HasSubstr;

const Exclusion steal{"steal", "steal was 7.3% of the host's CPU time in run 4 of base, more than 2%"};
const Exclusion canary{"canary", "canary was 5 ms in run 2 of base"};

class RepeatTest : public testing::Test {
  protected:
    RepeatTest() {
        Evaluation evaluation;
        evaluation.uid = "E";
        evaluation.plan = make_plan(two_arms(), 7);
        evaluation.arms.resize(evaluation.plan.arms.size());
        send(HostUp{});
        send(Submitted{evaluation});
        send(FreezeFinished{"E", {}});
        send(BuildFinished{"E", 0, {}});
        send(BuildFinished{"E", 1, {}});
    }

    void send(const Event& event) {
        auto out = step(state_, event, clock_.wall(), [this] { return "uid" + std::to_string(++names_); });
        for (const auto& command : out.commands)
            if (const auto* boot = std::get_if<Dispatch>(&command)) open_ = *boot;
        for (auto& transition : out.transitions) {
            if (const auto* set = std::get_if<SetBlock>(&transition)) blocks_.push_back(*set);
            if (const auto* set = std::get_if<SetEvaluation>(&transition)) end_ = *set;
        }
    }

    /// The open boot goes well, and with it or without it its block.
    void boot_ends(std::optional<Exclusion> exclusion = {}) {
        const auto attempt = open_.attempt;
        open_ = {};
        send(AttemptFinished{attempt, msg::Outcome::ok, {}, std::move(exclusion)});
    }

    /// Until the next boot is dispatched.
    Nanoseconds wait() {
        const auto from = clock_.wall();
        while (open_.attempt.empty()) {
            const auto next = next_deadline(state_);
            if (!next) break;
            clock_.advance(*next - clock_.wall());
            send(Tick{});
        }
        EXPECT_FALSE(open_.attempt.empty());
        return clock_.wall() - from;
    }

    const Block& block() const { return *state_.evaluations.front().block; }

    State state_;
    ManualClock clock_;
    std::vector<SetBlock> blocks_;
    SetEvaluation end_{};
    Dispatch open_{};
    int names_ = 0;
};

TEST_F(RepeatTest, ANoisyBlockIsBootedAgainWholeUnderItsNumberInTheSameOrder) {
    std::vector<int> order;
    for (const auto& boot : block().boots) order.push_back(boot.arm);
    boot_ends();
    boot_ends(steal);
    ASSERT_EQ(blocks_.size(), 1U);
    EXPECT_EQ(blocks_[0].to, BlockStatus::excluded);
    EXPECT_EQ(blocks_[0].cause, "steal");
    EXPECT_EQ(blocks_[0].detail, steal.detail);
    EXPECT_EQ(block().number, 1);
    EXPECT_EQ(block().repetition, 2);
    ASSERT_EQ(block().boots.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(block().boots[i].arm, order[i]);
        EXPECT_EQ(block().boots[i].status, BootStatus::pending);
    }
    EXPECT_EQ(state_.evaluations.front().blocks_complete, 0);
    wait();
    for (int i = 0; i < 3; ++i) boot_ends();
    EXPECT_EQ(state_.evaluations.front().blocks_complete, 1);
    EXPECT_EQ(block().number, 2);
    EXPECT_EQ(block().repetition, 1);
    EXPECT_EQ(noisy_tries(block()), 0) << "the next block starts with a clean sheet";
}

TEST_F(RepeatTest, ALastBootThatIsNoisyExcludesItsBlockToo) {
    boot_ends();
    boot_ends();
    boot_ends(canary);
    EXPECT_EQ(state_.evaluations.front().blocks_complete, 0);
    EXPECT_EQ(block().repetition, 2);
}

TEST_F(RepeatTest, TheNextTryWaitsLongerEachTimeAndTheWaitIsNotOfTheBlocksTime) {
    Nanoseconds before(0);
    for (int i = 1; i < max_noisy; ++i) {
        boot_ends(steal);
        EXPECT_TRUE(open_.attempt.empty()) << "not at once";
        const auto waited = wait();
        EXPECT_GT(waited, before);
        EXPECT_EQ(block().started, clock_.wall());
        before = waited;
    }
}

TEST_F(RepeatTest, TooMuchNoiseEndsTheEvaluationWithItsCausesAndTheRemedy) {
    for (int i = 1; i < max_noisy; ++i) {
        boot_ends(i % 3 == 0 ? canary : steal);
        ASSERT_EQ(end_.to, EvaluationStatus::running) << i;
        wait();
    }
    boot_ends(steal);
    EXPECT_EQ(end_.to, EvaluationStatus::failed);
    EXPECT_EQ(end_.fault, Fault::infra);
    EXPECT_THAT(end_.detail, HasSubstr("block 1 was excluded 8 times (canary 2, steal 6)"));
    EXPECT_THAT(end_.detail, HasSubstr(steal.detail));
    EXPECT_THAT(end_.detail, HasSubstr("quiet it, or raise exclude.steal"));
    EXPECT_EQ(blocks_.back().cause, "steal") << "the last try is excluded for its own cause";
    EXPECT_TRUE(state_.evaluations.empty());
}

TEST_F(RepeatTest, NoiseAndInterruptionsAreCountedApart) {
    for (int i = 1; i < max_noisy; ++i) {
        boot_ends(steal);
        wait();
    }
    for (int i = 1; i < max_interruptions; ++i) {
        clock_.advance(std::chrono::hours(1));
        send(Tick{});
        boot_ends();  // of the try that was given up
        wait();
        ASSERT_EQ(end_.to, EvaluationStatus::running) << i;
    }
    clock_.advance(std::chrono::hours(1));
    send(Tick{});
    EXPECT_EQ(end_.to, EvaluationStatus::failed);
    EXPECT_THAT(end_.detail, HasSubstr("block 1 was interrupted 3 times"));
    EXPECT_THAT(end_.detail, HasSubstr("limits.block: raise it"));
    EXPECT_EQ(blocks_.back().cause, interrupted);
}

TEST_F(RepeatTest, AFaultOfTheKernelIsNeverExcludedAway) {
    const auto arm = static_cast<std::size_t>(open_.arm);
    send(AttemptFinished{open_.attempt, msg::Outcome::kernel_crash, "BUG", {}});
    EXPECT_EQ(state_.evaluations.front().arms[arm].failures_in_a_row, 1);
    boot_ends(steal);
    EXPECT_EQ(block().repetition, 2);
    EXPECT_EQ(state_.evaluations.front().arms[arm].failures_in_a_row, 1);
}

// ---- restart ----

/// What the store holds of an evaluation in block 3, which was tried before.
store::EvaluationTree tree_of(const std::vector<std::string>& causes) {
    auto experiment = two_arms();
    for (auto& arm : experiment.arms) arm.kernel.source.location = "/src/linux.tar.xz";
    experiment.workloads.front().counter_iterations = 0;
    const auto plan = make_plan(experiment, 7);
    store::EvaluationTree tree;
    tree.evaluation.uid = "E";
    tree.evaluation.status = "running";
    tree.evaluation.seed = 7;
    tree.evaluation.experiment_json = dump_json(to_json(plan.experiment));
    tree.evaluation.plan_text = canonical_text(plan);
    for (const auto& arm : plan.arms) {
        store::ArmRow row;
        row.name = arm.name;
        row.status = "ready";
        row.kernel_id = 1;
        tree.arms.push_back(row);
    }
    std::int64_t id = 0;
    const auto add = [&](std::int64_t number, std::int64_t repetition, const std::string& status,
                         const std::string& cause) {
        store::BlockRow row;
        row.id = ++id;
        row.number = number;
        row.repetition = repetition;
        row.status = status;
        row.cause = cause;
        row.started_at = 1000 * id;
        if (status != "running") row.finished_at = 1000 * id + 500;
        tree.blocks.push_back(row);
        for (std::size_t i = 0; i < plan.arms.size(); ++i) {
            store::BootRow boot;
            boot.id = 10 * id + static_cast<std::int64_t>(i);
            boot.block_id = id;
            boot.position = static_cast<std::int64_t>(i) + 1;
            boot.uid = "boot" + std::to_string(boot.id);
            boot.arm = plan.arms[i].name;
            boot.status = status == "running" ? "pending" : "done";
            boot.outcome = status == "running" ? "" : "ok";
            tree.boots.push_back(boot);
        }
    };
    add(1, 1, "excluded", "steal");  // of another block: it does not count for this one
    add(1, 2, "complete", "");
    add(2, 1, "complete", "");
    std::int64_t repetition = 0;
    for (const auto& cause : causes) add(3, ++repetition, "excluded", cause);
    add(3, repetition + 1, "running", "");
    return tree;
}

TEST(RestoreExclusions, ARestartKnowsEarlierTriesByTheirCause) {
    const auto evaluation = restore_evaluation(tree_of({"steal", "interrupted", "canary", "steal"}));
    ASSERT_TRUE(evaluation) << evaluation.error().text();
    const auto& block = *evaluation->block;
    EXPECT_EQ(block.number, 3);
    EXPECT_EQ(block.repetition, 5);
    EXPECT_EQ(block.excluded, (std::map<std::string, int>{{"canary", 1}, {"interrupted", 1}, {"steal", 2}}));
    EXPECT_EQ(noisy_tries(block), 3);
    // The fourth try of block 3 is the seventh block row: it ended at 7500 ns.
    EXPECT_EQ(block.boots.front().not_before, WallTime(Nanoseconds(7500)) + pause_after(3));
}

TEST(RestoreFailures, OfAnEarlierTryAtTheCheckBlockAreKept) {
    auto tree = tree_of({});
    for (auto& block : tree.blocks) block.number = check_block;  // four tries, the last of them under way
    for (std::size_t i = 0; i + 1 < tree.blocks.size(); ++i) {
        tree.blocks[i].repetition = static_cast<std::int64_t>(i) + 1;
        tree.blocks[i].status = "excluded";
        tree.blocks[i].cause = interrupted;
    }
    tree.blocks.back().repetition = std::ssize(tree.blocks);
    for (auto& boot : tree.boots) {
        if (boot.block_id != tree.blocks.front().id || boot.arm != "patched") continue;
        boot.outcome = "hang";
        boot.detail = "once";
    }
    const auto evaluation = restore_evaluation(tree);
    ASSERT_TRUE(evaluation) << evaluation.error().text();
    EXPECT_EQ(evaluation->arms[1].check_failure, "hang: once") << "though later tries went well";
    EXPECT_EQ(evaluation->arms[1].failures_in_a_row, 0);
    EXPECT_EQ(evaluation->arms[0].check_failure, "");
    EXPECT_EQ(evaluation->blocks_complete, 0);
}

TEST(RestoreExclusions, WithoutTriesOrAfterAnInterruptionNothingWaits) {
    for (const auto& causes : {std::vector<std::string>{}, std::vector<std::string>{"steal", "interrupted"}}) {
        const auto evaluation = restore_evaluation(tree_of(causes));
        ASSERT_TRUE(evaluation) << evaluation.error().text();
        EXPECT_EQ(evaluation->block->boots.front().not_before, WallTime());
    }
}

TEST(RestoreExclusions, TheBoundHoldsOverARestart) {
    State state;
    auto evaluation = restore_evaluation(tree_of({"steal", "steal", "steal", "steal", "steal", "steal", "steal"}));
    ASSERT_TRUE(evaluation) << evaluation.error().text();
    state.evaluations.push_back(std::move(*evaluation));
    int names = 0;
    const auto new_uid = [&] { return "uid" + std::to_string(++names); };
    const WallTime later{std::chrono::hours(1)};
    step(state, Restarted{}, later, new_uid);
    const auto out = step(state, HostUp{}, later, new_uid);
    ASSERT_FALSE(out.commands.empty());
    const auto attempt = std::get<Dispatch>(out.commands.front()).attempt;
    step(state, AttemptFinished{attempt, msg::Outcome::ok, {}, steal}, later, new_uid);
    EXPECT_TRUE(state.evaluations.empty()) << "the eighth exclusion of the block ends it";
}

}  // namespace
}  // namespace kab::core
