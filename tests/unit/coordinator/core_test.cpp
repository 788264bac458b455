// The coordinator's decisions, driven event by event without a store, a host or a clock.
#include <algorithm>
#include <map>

#include "tests/unit/coordinator/core_fixture.h"

namespace kab::core {
namespace {

TEST_F(CoreTest, FreezesAtOnceThenBuildsEveryArmBeforeTheFirstBoot) {
    send(HostUp{});
    auto out = send(Submitted{make("E")});
    ASSERT_NE(only<Freeze>(out), nullptr);
    EXPECT_EQ(only<Build>(out), nullptr);
    out = send(FreezeFinished{"E", {}});
    // A' boots the baseline's kernel: two builds for three arms.
    ASSERT_EQ(state_.evaluations.front().plan.arms.size(), 3U);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto* build = only<Build>(out);
        ASSERT_NE(build, nullptr);
        EXPECT_EQ(build->arm, static_cast<int>(i));
        EXPECT_EQ(only<Dispatch>(out), nullptr);
        out = send(BuildFinished{"E", build->arm, {}});
    }
    EXPECT_NE(only<Dispatch>(out), nullptr);
}

TEST_F(CoreTest, BootsEveryArmOncePerBlockAndLooksOnlyAtPlannedLooks) {
    auto out = start("E");
    const auto arms = state_.evaluations.front().plan.arms.size();
    std::vector<int> booted;
    for (const auto* boot = only<Dispatch>(out); boot != nullptr; boot = only<Dispatch>(out)) {
        booted.push_back(boot->arm);
        out = send(AttemptFinished{boot->attempt, msg::Outcome::ok, {}});
    }
    // Two blocks, then a look and no boot.
    EXPECT_EQ(booted.size(), 2 * arms);
    for (std::size_t block = 0; block < 2; ++block)
        for (std::size_t arm = 0; arm < arms; ++arm)
            EXPECT_EQ(std::count(booted.begin() + static_cast<long>(block * arms),
                                 booted.begin() + static_cast<long>((block + 1) * arms), static_cast<int>(arm)),
                      1);
    const auto* analyse = only<Analyse>(out);
    ASSERT_NE(analyse, nullptr);
    EXPECT_EQ(analyse->look, 0);
    out = send(LookFinished{"E", true, false, "go on"});
    EXPECT_NE(only<Dispatch>(out), nullptr);
}

TEST_F(CoreTest, SealsThePlanOnceBeforeTheFirstAttempt) {
    auto out = start("E");
    for (const auto* boot = only<Dispatch>(out); boot != nullptr; boot = only<Dispatch>(out))
        out = send(AttemptFinished{boot->attempt, msg::Outcome::ok, {}});
    std::string order;
    for (const auto& t : transitions_) {
        if (std::holds_alternative<SealPlan>(t)) order += 's';
        if (std::holds_alternative<AddAttempt>(t)) order += 'a';
    }
    EXPECT_EQ(order, "saaaaaa");
}

TEST_F(CoreTest, StopsAtTheLookThatDecides) {
    auto out = start("E");
    for (const auto* boot = only<Dispatch>(out); boot != nullptr; boot = only<Dispatch>(out))
        out = send(AttemptFinished{boot->attempt, msg::Outcome::ok, {}});
    send(LookFinished{"E", true, true, "decided"});
    EXPECT_EQ(last_status("E"), EvaluationStatus::done);
    EXPECT_TRUE(state_.evaluations.empty());
}

TEST_F(CoreTest, EndsAtTheCapEvenWhenNothingIsDecided) {
    auto out = start("E");
    for (int look = 0; look < 2; ++look) {
        for (const auto* boot = only<Dispatch>(out); boot != nullptr; boot = only<Dispatch>(out))
            out = send(AttemptFinished{boot->attempt, msg::Outcome::ok, {}});
        out = send(LookFinished{"E", true, false, "open"});
    }
    EXPECT_EQ(last_status("E"), EvaluationStatus::done);
}

TEST_F(CoreTest, RetriesInfrastructureFaultsWithABound) {
    auto out = start("E");
    for (int i = 1; i < max_infra_errors; ++i) {
        const auto boot = *only<Dispatch>(out);
        out = send(AttemptFinished{boot.attempt, msg::Outcome::infra_error, "no memory"});
        EXPECT_EQ(only<Dispatch>(out), nullptr) << "not at once";
        ASSERT_TRUE(next_deadline(state_));
        clock_.advance(*next_deadline(state_) - clock_.wall());
        out = send(Tick{});
        ASSERT_NE(only<Dispatch>(out), nullptr);
        EXPECT_EQ(only<Dispatch>(out)->boot, boot.boot);
    }
    send(AttemptFinished{only<Dispatch>(out)->attempt, msg::Outcome::infra_error, "no memory"});
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
    EXPECT_NE(all<SetEvaluation>().back().detail.find("no memory"), std::string::npos);
}

TEST_F(CoreTest, NeverRetriesAKernelFault) {
    auto out = start("E");
    const auto first = *only<Dispatch>(out);
    out = send(AttemptFinished{first.attempt, msg::Outcome::kernel_crash, "Oops"});
    ASSERT_NE(only<Dispatch>(out), nullptr);
    EXPECT_NE(only<Dispatch>(out)->boot, first.boot);
    EXPECT_TRUE(all<AcceptAttempt>().empty());
}

TEST_F(CoreTest, StopsAnArmWhoseBootsKeepFailingAndSaysSo) {
    auto out = start("E");
    for (const auto* boot = only<Dispatch>(out); boot != nullptr; boot = only<Dispatch>(out)) {
        const bool patched = boot->arm == 1;
        out = send(AttemptFinished{boot->attempt, patched ? msg::Outcome::kernel_crash : msg::Outcome::ok, "Oops"});
        if (const auto* look = only<Analyse>(out); look != nullptr && look->look >= 0)
            out = send(LookFinished{"E", true, false, {}});
    }
    // No look was due: what there is is analysed as it is, and that ends it.
    ASSERT_NE(only<Analyse>(out), nullptr);
    EXPECT_EQ(only<Analyse>(out)->look, -1);
    send(LookFinished{"E", true, true, "patched does not boot"});
    EXPECT_EQ(last_status("E"), EvaluationStatus::done);
    EXPECT_EQ(all<SetEvaluation>().back().detail, "patched does not boot");
    const auto arms = all<SetArm>();
    EXPECT_EQ(arms.back().arm, "patched");
    EXPECT_EQ(arms.back().to, ArmStatus::stopped);
}

TEST_F(CoreTest, ArmsThatAllFailAreNoAnswerWhateverTheOrderOfTheirBoots) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        state_ = {};
        transitions_.clear();
        send(HostUp{});
        auto evaluation = make("E");
        evaluation.plan.seed = seed;
        send(Submitted{evaluation});
        auto out = send(FreezeFinished{"E", {}});
        for (const auto* build = only<Build>(out); build != nullptr; build = only<Build>(out))
            out = send(BuildFinished{"E", build->arm, {}});
        for (const auto* boot = only<Dispatch>(out); boot != nullptr; boot = only<Dispatch>(out)) {
            out = send(AttemptFinished{boot->attempt, msg::Outcome::boot_failure, "no init"});
            if (only<Analyse>(out) != nullptr) out = send(LookFinished{"E", true, false, {}});
        }
        EXPECT_EQ(last_status("E"), EvaluationStatus::failed) << seed;
    }
}

TEST_F(CoreTest, ABaselineWhoseBootsKeepFailingIsNoAnswer) {
    auto out = start("E");
    for (const auto* boot = only<Dispatch>(out); boot != nullptr; boot = only<Dispatch>(out)) {
        out = send(AttemptFinished{boot->attempt, boot->arm == 0 ? msg::Outcome::hang : msg::Outcome::ok, "hang"});
        if (only<Analyse>(out) != nullptr) out = send(LookFinished{"E", true, false, {}});
    }
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
}

TEST_F(CoreTest, AFailedBuildEndsTheEvaluationWhenNothingIsLeftToCompare) {
    send(HostUp{});
    send(Submitted{make("E")});
    auto out = send(FreezeFinished{"E", {}});
    for (const auto* build = only<Build>(out); build != nullptr; build = only<Build>(out))
        out = send(BuildFinished{"E", build->arm,
                                 build->arm != 1 ? Status() : Status(fail(Fault::build, "ipc/namespace.c:3: error"))});
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
    EXPECT_EQ(all<SetEvaluation>().back().fault, Fault::build);
    EXPECT_EQ(all<SetArm>().back().detail, "ipc/namespace.c:3: error");
    EXPECT_EQ(only<Dispatch>(out), nullptr);
}

TEST_F(CoreTest, AFailedFreezeEndsTheEvaluationWithItsReason) {
    send(Submitted{make("E")});
    send(FreezeFinished{
        "E", {{0, {Fault::spec, "no commit 'v9'", "/src/linux"}}, {1, {Fault::spec, "no patch", "a.patch"}}}});
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
    EXPECT_EQ(all<SetEvaluation>().back().detail,
              "arm base: /src/linux: no commit 'v9'; arm patched: a.patch: no patch");
    EXPECT_EQ(all<SetEvaluation>().back().fault, Fault::spec);
    std::map<std::string, std::string> arms;
    for (const auto& set : all<SetArm>()) {
        EXPECT_EQ(set.to, ArmStatus::failed);
        arms[set.arm] = set.detail;
    }
    // The control is the baseline's kernel.
    const std::string first = "/src/linux: no commit 'v9'";
    EXPECT_EQ(arms,
              (std::map<std::string, std::string>{{"base", first}, {"patched", "a.patch: no patch"}, {"A'", first}}));
}

TEST_F(CoreTest, WhatNeedsKvmIsNotBuiltOnAMachineWithoutIt) {
    auto experiment = two_arms();
    experiment.host.accel = HostSpec::Accel::kvm;
    send(Submitted{make("E", experiment)});
    const auto out = send(HostUp{"/dev/kvm: No such file"});
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
    EXPECT_EQ(all<SetEvaluation>().back().detail, "host.accel is kvm, but /dev/kvm: No such file");
    EXPECT_NE(only<StopBuilder>(out), nullptr) << "it was being frozen";
    send(FreezeFinished{"E", {}});
    send(Submitted{make("F", experiment)});
    EXPECT_EQ(last_status("F"), EvaluationStatus::failed);
    send(Submitted{make("G")});  // leaves the choice to the host
    EXPECT_EQ(last_status("G"), EvaluationStatus::freezing);
}

TEST_F(CoreTest, WhatNeedsAShellIsNotBuiltOnAHostWithoutOne) {
    auto experiment = two_arms();
    experiment.workloads.front().workload = "shell";
    send(Submitted{make("E", experiment)});
    send(HostUp{"", "/bin/busybox: No such file; install the package busybox-static"});
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
    EXPECT_EQ(all<SetEvaluation>().back().detail,
              "workload shell needs a shell in the guest: /bin/busybox: No such file; install the package "
              "busybox-static");
    send(FreezeFinished{"E", {}});
    send(Submitted{make("F")});  // needs none
    EXPECT_EQ(last_status("F"), EvaluationStatus::freezing);
}

TEST_F(CoreTest, CancelStopsTheBootAndForgetsTheEvaluationOnlyWhenTheHostLetGo) {
    auto out = start("E");
    const auto attempt = only<Dispatch>(out)->attempt;
    out = send(CancelRequested{"E"});
    ASSERT_NE(only<CancelAttempt>(out), nullptr);
    EXPECT_EQ(only<CancelAttempt>(out)->attempt, attempt);
    EXPECT_EQ(last_status("E"), EvaluationStatus::cancelled);
    EXPECT_EQ(state_.evaluations.size(), 1U);
    send(AttemptFinished{attempt, msg::Outcome::cancelled, {}});
    EXPECT_TRUE(state_.evaluations.empty());
}

TEST_F(CoreTest, ABootThatTheHostCancelledUnaskedIsAnInfraErrorLikeAnyOther) {
    auto out = start("E");
    const auto attempt = only<Dispatch>(out)->attempt;
    send(AttemptFinished{attempt, msg::Outcome::cancelled, "SIGTERM"});
    const auto finished = all<FinishAttempt>().back();
    EXPECT_EQ(finished.outcome, msg::Outcome::infra_error);
    EXPECT_EQ(finished.detail, "the host cancelled the boot unasked: SIGTERM");
    EXPECT_EQ(state_.evaluations.front().block->boots.front().infra_errors, 1);
}

TEST_F(CoreTest, ABlockOverItsLimitIsBootedAgainWholeUnderTheSameNumber) {
    auto out = start("E");
    const auto attempt = only<Dispatch>(out)->attempt;
    clock_.advance(std::chrono::hours(1));
    out = send(Tick{});
    EXPECT_EQ(only<CancelAttempt>(out)->attempt, attempt);
    ASSERT_EQ(all<AddBlock>().size(), 2U);
    EXPECT_EQ(all<AddBlock>().back().number, 1);
    EXPECT_EQ(all<AddBlock>().back().repetition, 2);
    EXPECT_EQ(only<Dispatch>(out), nullptr) << "the host is still busy";
    out = send(AttemptFinished{attempt, msg::Outcome::cancelled, {}});
    EXPECT_NE(only<Dispatch>(out), nullptr);
}

TEST_F(CoreTest, OnlyOneEvaluationBootsAtATime) {
    auto out = start("E");
    send(Submitted{make("F")});
    const auto second = send(FreezeFinished{"F", {}});
    EXPECT_EQ(only<Build>(second), nullptr);
    out = send(CancelRequested{"E"});
    EXPECT_NE(only<Build>(out), nullptr);
    EXPECT_EQ(only<Build>(out)->evaluation, "F");
}

TEST_F(CoreTest, AfterARestartALostAttemptIsTriedAgainAndNotCounted) {
    auto out = start("E");
    for (int life = 0; life < 3 * max_infra_errors; ++life) {
        const auto boot = only<Dispatch>(out)->boot;
        state_.host_up = false;
        send(Restarted{});
        out = send(HostUp{});
        ASSERT_NE(only<Dispatch>(out), nullptr);
        EXPECT_EQ(only<Dispatch>(out)->boot, boot);
    }
    EXPECT_EQ(last_status("E"), EvaluationStatus::running);
}

TEST_F(CoreTest, ALostHostIsAnInfrastructureFaultOfItsBoot) {
    start("E");
    auto out = send(HostLost{"kab-host died"});
    EXPECT_EQ(only<Dispatch>(out), nullptr);
    EXPECT_EQ(all<FinishAttempt>().back().outcome, msg::Outcome::infra_error);
    clock_.advance(std::chrono::seconds(2));
    out = send(HostUp{});
    EXPECT_NE(only<Dispatch>(out), nullptr);
}

TEST_F(CoreTest, TimeWithoutAHostDoesNotCountAgainstTheBlock) {
    start("E");
    send(HostLost{"kab-host died"});
    clock_.advance(std::chrono::hours(1));
    EXPECT_TRUE(all<SetBlock>().empty());
    auto out = send(HostUp{});
    EXPECT_NE(only<Dispatch>(out), nullptr);
    send(Tick{});
    EXPECT_EQ(all<AddBlock>().size(), 1U);
}

TEST_F(CoreTest, AnEvaluationThatIsLostTooOftenEnds) {
    auto out = start("E");
    for (int life = 0; life < max_lost && !state_.evaluations.empty(); ++life) {
        state_.host_up = false;
        send(Restarted{});
        out = send(HostUp{});
    }
    EXPECT_EQ(last_status("E"), EvaluationStatus::failed);
}

TEST_F(CoreTest, AnArmThatKeepsFailingIsLeftOutWhileAnotherIsMeasured) {
    auto experiment = two_arms();
    experiment.arms.push_back({"other", {}, "base"});
    auto out = start("E", experiment);
    std::map<int, int> boots;
    std::vector<int> looks;
    while (!state_.evaluations.empty()) {
        if (const auto* boot = only<Dispatch>(out)) {
            ++boots[boot->arm];
            out = send(
                AttemptFinished{boot->attempt, boot->arm == 1 ? msg::Outcome::kernel_crash : msg::Outcome::ok, "x"});
        } else if (const auto* look = only<Analyse>(out)) {
            looks.push_back(look->look);
            out = send(LookFinished{"E", true, false, {}});
        } else {
            FAIL() << "nothing happens any more";
        }
    }
    EXPECT_EQ(last_status("E"), EvaluationStatus::done);
    EXPECT_EQ(looks, (std::vector<int>{0, 1}));
    EXPECT_EQ(boots[1], max_failures_in_a_row);
    EXPECT_EQ(boots[2], 6);
}

}  // namespace
}  // namespace kab::core
