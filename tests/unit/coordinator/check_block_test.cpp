// The block before the first, in which every kernel is checked and none is timed.
#include <algorithm>
#include <functional>

#include "tests/unit/coordinator/core_fixture.h"

namespace kab::core {
namespace {

constexpr int base = 0, patched = 1, base_debug = 3, patched_debug = 4;

Experiment checked_arms(bool debug = true) {
    auto experiment = two_arms();
    experiment.checks = {{"ipcns-check", {{"namespaces", 5}, {"rounds", 5}}, false}};
    if (debug) experiment.debug.config = {"/debug.config"};
    return experiment;
}

class CheckBlock : public CoreTest {
  protected:
    using Ends = std::function<AttemptFinished(const Dispatch&)>;
    static AttemptFinished ok(const Dispatch& boot) { return {boot.attempt, msg::Outcome::ok, {}}; }

    /// Boots until something else is asked for; `end` says how each boot of the check block goes, all others go well.
    Step boot_all(Step out, const Ends& end = ok) {
        for (const auto* boot = only<Dispatch>(out); boot != nullptr; boot = only<Dispatch>(out)) {
            booted_.push_back({boot->block, boot->arm});
            out = send(boot->block == check_block ? end(*boot) : ok(*boot));
        }
        return out;
    }
    /// Arms booted in a block, in order.
    std::vector<int> booted(int block) const {
        std::vector<int> arms;
        for (const auto& [number, arm] : booted_)
            if (number == block) arms.push_back(arm);
        return arms;
    }
    static Ends failing(int arm, msg::Outcome outcome, const std::string& detail) {
        return [=](const Dispatch& boot) {
            return boot.arm == arm ? AttemptFinished{boot.attempt, outcome, detail} : ok(boot);
        };
    }
    static Ends complaining(int arm, const std::string& complaint) {
        return [=](const Dispatch& boot) {
            auto end = ok(boot);
            if (boot.arm == arm) end.complaint = complaint;
            return end;
        };
    }
    std::string detail_of(const std::string& arm) const {
        std::string detail = "not stopped";
        for (const auto& set : all<SetArm>())
            if (set.arm == arm && set.to == ArmStatus::stopped) detail = set.detail;
        return detail;
    }

    std::vector<std::pair<int, int>> booted_;
};

TEST_F(CheckBlock, EveryKernelBootsOnceBeforeTheFirstBlockAndDebugKernelsNeverAgain) {
    auto out = boot_all(start("E", checked_arms()));
    EXPECT_EQ(booted(check_block), (std::vector<int>{base, patched, base_debug, patched_debug}));
    for (int block = 1; block <= 2; ++block) {
        auto arms = booted(block);
        std::sort(arms.begin(), arms.end());
        EXPECT_EQ(arms, (std::vector<int>{0, 1, 2})) << "arms and control";
    }
    // The look after two blocks counts timed blocks only.
    ASSERT_NE(only<Analyse>(out), nullptr);
    EXPECT_EQ(only<Analyse>(out)->look, 0);
    EXPECT_EQ(state_.evaluations.front().blocks_complete, 2);
}

TEST_F(CheckBlock, WithoutChecksThereIsNone) {
    boot_all(start("E"));
    EXPECT_TRUE(booted(check_block).empty());
}

TEST_F(CheckBlock, AnArmWhoseCheckFailsIsStoppedAndNeverTimed) {
    const auto end = failing(patched, msg::Outcome::workload_error, "ipcns-check: memory is left\nmore");
    auto experiment = checked_arms(false);
    experiment.arms.push_back({"other", {}, "base"});
    boot_all(start("E", experiment), end);
    EXPECT_EQ(detail_of("patched"),
              "failed its checks (ipcns-check) as it is: workload-error: ipcns-check: memory is left");
    EXPECT_EQ(booted(check_block), (std::vector<int>{0, 1, 2})) << "the others are checked all the same";
    for (const auto& [block, arm] : booted_) EXPECT_TRUE(block == check_block || arm != patched);
    EXPECT_EQ(last_status("E"), EvaluationStatus::running);
}

TEST_F(CheckBlock, ADebugArmThatFailsStopsItsArm) {
    boot_all(start("E", checked_arms()), failing(patched_debug, msg::Outcome::kernel_crash, "BUG: bad list"));
    EXPECT_EQ(detail_of("patched"),
              "failed its checks (ipcns-check) on its debug variant: kernel-crash: BUG: bad list");
    EXPECT_EQ(detail_of("patched'debug"), detail_of("patched"));
    EXPECT_TRUE(booted(1).empty()) << "nothing is left to compare";
}

TEST_F(CheckBlock, AComplaintOfTheKernelIsAFailedCheckThoughTheBootWentWell) {
    boot_all(start("E", checked_arms()), complaining(patched_debug, "WARNING: possible circular locking dependency"));
    EXPECT_EQ(detail_of("patched"),
              "failed its checks (ipcns-check) on its debug variant: workload-error: the kernel complained: WARNING: "
              "possible circular locking dependency");
    const auto ends = all<FinishAttempt>();
    EXPECT_EQ(ends.back().outcome, msg::Outcome::workload_error) << "a restart finds it in the database";
    EXPECT_EQ(all<AcceptAttempt>().size(), 3U);
}

TEST_F(CheckBlock, AComplaintInATimedBlockIsNone) {
    auto out = boot_all(start("E", checked_arms(false)));
    out = send(LookFinished{"E", true, false, {}});
    auto end = ok(*only<Dispatch>(out));
    end.complaint = "WARNING: CPU: 0 PID: 1 at kernel/foo.c:1";
    send(end);
    EXPECT_EQ(all<FinishAttempt>().back().outcome, msg::Outcome::ok);
    EXPECT_EQ(detail_of("patched"), "not stopped");
}

TEST_F(CheckBlock, ATreatmentThatFailsWhereItsBaselineDoesNotIsAnAnswer) {
    const auto out = boot_all(start("E", checked_arms()), failing(patched, msg::Outcome::hang, "no run"));
    ASSERT_NE(only<Analyse>(out), nullptr);
    EXPECT_EQ(only<Analyse>(out)->look, -1);
    send(LookFinished{"E", true, true, "patched failed its check"});
    EXPECT_EQ(last_status("E"), EvaluationStatus::done);
}

TEST_F(CheckBlock, ABaselineThatFailsTakesItsControlWithItAndEndsTheEvaluation) {
    boot_all(start("E", checked_arms()), failing(base_debug, msg::Outcome::boot_failure, "no hello"));
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
    EXPECT_NE(all<SetEvaluation>().back().detail.find("stopped or failed: base failed its checks"), std::string::npos);
    EXPECT_EQ(detail_of("A'"), detail_of("base"));
    EXPECT_TRUE(booted(1).empty());
}

TEST_F(CheckBlock, InfrastructureIsRetriedAndDoesNotStopAnArm) {
    auto out = start("E", checked_arms(false));
    const auto first = *only<Dispatch>(out);
    send(AttemptFinished{first.attempt, msg::Outcome::infra_error, "no memory"});
    clock_.advance(*next_deadline(state_) - clock_.wall());
    out = send(Tick{});
    ASSERT_NE(only<Dispatch>(out), nullptr);
    EXPECT_EQ(only<Dispatch>(out)->boot, first.boot);
    boot_all(out);
    EXPECT_EQ(detail_of("base"), "not stopped");
}

TEST_F(CheckBlock, ItMayTakeLongerThanATimedBlockAndIsThenBootedAgain) {
    auto out = start("E", checked_arms(false));
    const auto limit = state_.evaluations.front().plan.experiment.limits.block;
    const auto attempt = only<Dispatch>(out)->attempt;
    clock_.advance(limit + std::chrono::seconds(1));
    EXPECT_EQ(only<CancelAttempt>(send(Tick{})), nullptr);
    clock_.advance((debug_patience - 1) * limit);
    ASSERT_NE(only<CancelAttempt>(send(Tick{})), nullptr);
    out = send(AttemptFinished{attempt, msg::Outcome::cancelled, {}});
    EXPECT_EQ(all<AddBlock>().back().number, check_block);
    EXPECT_EQ(all<AddBlock>().back().repetition, 2);
    boot_all(out);
    EXPECT_EQ(booted(1).size(), 3U);
}

TEST_F(CheckBlock, AFailureIsKeptWhenTheBlockIsBootedAgain) {
    auto experiment = checked_arms(false);
    experiment.arms.push_back({"other", {}, "base"});
    auto out = start("E", experiment);
    out = send(AttemptFinished{only<Dispatch>(out)->attempt, msg::Outcome::ok, {}});
    out = send(AttemptFinished{only<Dispatch>(out)->attempt, msg::Outcome::hang, "once"});
    EXPECT_EQ(detail_of("patched"), "not stopped") << "not before the block is over";
    const auto attempt = only<Dispatch>(out)->attempt;
    clock_.advance(debug_patience * state_.evaluations.front().plan.experiment.limits.block + std::chrono::seconds(1));
    ASSERT_NE(only<CancelAttempt>(send(Tick{})), nullptr);
    out = send(AttemptFinished{attempt, msg::Outcome::cancelled, {}});
    ASSERT_EQ(all<AddBlock>().back().repetition, 2);
    boot_all(out);
    EXPECT_EQ(booted(check_block), (std::vector<int>{0, 1, 2})) << "all of them again, and all went well";
    EXPECT_EQ(detail_of("patched"), "failed its checks (ipcns-check) as it is: hang: once");
    EXPECT_EQ(last_status("E"), EvaluationStatus::running);
}

/// Two arms beside the baseline, one judged against the other.
Experiment chain(bool control) {
    auto experiment = checked_arms(false);
    experiment.arms.push_back({"variant", {}, "patched"});
    experiment.decide.control = control;
    return experiment;
}

TEST_F(CheckBlock, WithTheBaselineGoesTheControlAndNothingVouchesForTheRest) {
    boot_all(start("E", chain(true)), failing(base, msg::Outcome::hang, "no run"));
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
    EXPECT_EQ(all<SetEvaluation>().back().detail,
              "nothing is left that the control could vouch for, as it is the baseline's image and lost with it; "
              "stopped or failed: base failed its checks");
    EXPECT_TRUE(booted(1).empty());
}

TEST_F(CheckBlock, WithoutAControlTheRestIsComparedWithoutTheBaseline) {
    boot_all(start("E", chain(false)), failing(base, msg::Outcome::hang, "no run"));
    EXPECT_EQ(last_status("E"), EvaluationStatus::running);
    EXPECT_EQ(booted(1).size(), 2U);
}

TEST_F(CheckBlock, CancelEndsIt) {
    auto out = start("E", checked_arms());
    const auto attempt = only<Dispatch>(out)->attempt;
    out = send(CancelRequested{"E"});
    EXPECT_EQ(only<CancelAttempt>(out)->attempt, attempt);
    EXPECT_EQ(last_status("E"), EvaluationStatus::cancelled);
}

TEST_F(CheckBlock, ALostAttemptIsTriedAgainAfterARestart) {
    auto out = start("E", checked_arms());
    out = send(AttemptFinished{only<Dispatch>(out)->attempt, msg::Outcome::ok, {}});
    const auto boot = only<Dispatch>(out)->boot;
    state_.host_up = false;
    send(Restarted{});
    out = send(HostUp{});
    ASSERT_NE(only<Dispatch>(out), nullptr);
    EXPECT_EQ(only<Dispatch>(out)->boot, boot);
    EXPECT_EQ(only<Dispatch>(out)->block, check_block);
}

TEST_F(CheckBlock, AnExclusionDoesNotConcernIt) {
    auto out = start("E", checked_arms(false));
    auto end = ok(*only<Dispatch>(out));
    end.exclusion = Exclusion{"steal", "too much"};
    send(end);
    EXPECT_EQ(all<AddBlock>().size(), 1U);
}

TEST_F(CheckBlock, AnArmWhoseDebugVariantCannotBeBuiltFails) {
    send(HostUp{});
    send(Submitted{make("E", checked_arms())});
    auto out = send(FreezeFinished{"E", {}});
    for (const auto* build = only<Build>(out); build != nullptr; build = only<Build>(out))
        out = send(
            BuildFinished{"E", build->arm,
                          build->arm != patched_debug ? Status() : Status(fail(Fault::build, "lockdep.c:3: error"))});
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
    std::string detail;
    for (const auto& set : all<SetArm>())
        if (set.arm == "patched" && set.to == ArmStatus::failed) detail = set.detail;
    EXPECT_EQ(detail, "its debug variant could not be built: lockdep.c:3: error");
}

TEST_F(CheckBlock, TheDebugVariantOfAnArmThatCannotBeBuiltIsNotTried) {
    auto experiment = checked_arms();
    experiment.arms.push_back({"other", {}, "base"});
    send(HostUp{});
    send(Submitted{make("E", experiment)});
    auto out = send(FreezeFinished{"E", {}});
    std::vector<int> built;
    for (const auto* build = only<Build>(out); build != nullptr; build = only<Build>(out)) {
        built.push_back(build->arm);
        out = send(BuildFinished{"E", build->arm, build->arm != patched ? Status() : Status(fail(Fault::build, "no"))});
    }
    EXPECT_EQ(built, (std::vector<int>{0, 1, 2, 4, 6})) << "base, patched, other, base'debug, other'debug";
    EXPECT_NE(only<Dispatch>(out), nullptr);
}

TEST_F(CheckBlock, ChecksOfDebugVariantsOnlyDoNotBootTheOthers) {
    auto experiment = checked_arms();
    experiment.checks[0].debug_only = true;
    boot_all(start("E", experiment));
    EXPECT_EQ(booted(check_block), (std::vector<int>{base_debug, patched_debug}));
    EXPECT_EQ(booted(1).size(), 3U);
}

}  // namespace
}  // namespace kab::core
