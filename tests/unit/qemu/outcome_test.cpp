#include "agent/host/qemu/outcome.h"

#include <gtest/gtest.h>

namespace kab::qemu {
namespace {

using msg::Outcome;

BootFacts running() {
    BootFacts facts;
    facts.hello = true;
    facts.runs_planned = 5;
    facts.runs_finished = 2;
    facts.run_in_progress = 3;
    facts.last_console_line = "Run /init as init process";
    return facts;
}

TEST(Outcome, all_runs_and_done_is_ok) {
    auto facts = running();
    facts.runs_finished = 5;
    facts.run_in_progress = 0;
    facts.done = true;
    facts.emulator = ExitStatus{0, 0};
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::ok);
    EXPECT_EQ(decide_outcome(facts).detail, "");
    facts.runs_finished = 4;
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
}

TEST(Outcome, nothing_hides_a_fault_of_the_kernel) {
    auto facts = running();
    facts.console_fault = "Kernel panic - not syncing: x";
    for (int i = 0; i < 5; ++i) {
        if (i == 0) facts.done = true;
        if (i == 1) facts.agent_error = msg::AgentError{3, "killed"};
        if (i == 2) facts.cancelled = true;
        if (i == 3) facts.host_failure = "disk full";
        if (i == 4) facts.run_limit_passed = true;
        EXPECT_EQ(decide_outcome(facts).outcome, Outcome::kernel_crash) << i;
        EXPECT_EQ(decide_outcome(facts).detail, "Kernel panic - not syncing: x");
    }
}

TEST(Outcome, errors_of_workload_and_agent_are_told_apart) {
    auto facts = running();
    facts.agent_error = msg::AgentError{3, "ipcns-exit: unshare: No space left on device"};
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::workload_error);
    EXPECT_EQ(decide_outcome(facts).detail, "ipcns-exit: unshare: No space left on device");
    facts.agent_error = msg::AgentError{0, "out of memory"};
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
    EXPECT_EQ(decide_outcome(facts).detail, "kab-agent: out of memory");
}

TEST(Outcome, deadlines_name_the_run_and_what_the_console_says) {
    auto facts = running();
    facts.run_limit_passed = true;
    facts.limit = "5m 00s";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::hang);
    EXPECT_EQ(decide_outcome(facts).detail,
              "nothing within 5m 00s in run 3 of 5; last console line: Run /init as init process");
    facts.console_stall = "rcu: INFO: rcu_sched self-detected stall on CPU";
    EXPECT_EQ(decide_outcome(facts).detail,
              "nothing within 5m 00s in run 3 of 5; console: rcu: INFO: rcu_sched self-detected stall on CPU");
    BootFacts silent;
    silent.boot_limit_passed = true;
    silent.limit = "60.0s";
    EXPECT_EQ(decide_outcome(silent).outcome, Outcome::boot_failure);
    EXPECT_EQ(decide_outcome(silent).detail, "no hello from the agent within 60.0s; the console is empty");
}

TEST(Outcome, an_emulator_that_ends_is_judged_by_why) {
    auto facts = running();
    facts.emulator = ExitStatus{0, 0};
    facts.shutdown_reason = "guest-reset";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::kernel_crash);
    facts.hello = false;
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::boot_failure);
    facts = running();
    facts.emulator = ExitStatus{0, 9};
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
    EXPECT_EQ(decide_outcome(facts).detail, "QEMU ended with signal 9 (Killed)");
    facts.emulator = ExitStatus{1, 0};
    facts.emulator_message = "qemu-system-x86_64: cannot set up guest memory";
    EXPECT_EQ(decide_outcome(facts).detail,
              "QEMU ended with exit code 1: qemu-system-x86_64: cannot set up guest memory");
    facts.emulator = ExitStatus{0, 0};
    facts.shutdown_reason = "host-signal";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
}

TEST(Outcome, timers_count_only_when_the_kernel_tried) {
    auto facts = running();
    facts.done = true;
    facts.runs_finished = 5;
    facts.high_resolution_timers = false;
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::ok) << "a kernel without CONFIG_HIGH_RES_TIMERS";
    facts.timer_trouble = "APIC timer disabled due to verification failure";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
}

TEST(Outcome, a_wrong_request_is_not_tried_again) {
    BootFacts facts;
    facts.request_failure = "not a kernel: /etc/passwd is neither a bzImage nor an ELF file";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::boot_failure);
    EXPECT_EQ(decide_outcome(facts).detail, facts.request_failure);
    BootFacts nothing;
    EXPECT_EQ(decide_outcome(nothing).outcome, Outcome::infra_error);
}

}  // namespace
}  // namespace kab::qemu
