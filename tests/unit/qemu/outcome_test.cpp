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

TEST(Outcome, a_flood_is_a_fault_of_the_kernel_and_hides_no_worse_one) {
    auto facts = running();
    facts.console_flood = true;
    facts.run_limit_passed = true;
    facts.host_failure = "disk full";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::hang);
    EXPECT_EQ(decide_outcome(facts).detail,
              "the kernel floods its console: more than 16 MiB in run 3 of 5; last console line: Run /init as init "
              "process");
    facts.console_fault = "Kernel panic - not syncing: x";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::kernel_crash);
    facts = {};
    facts.console_flood = true;
    EXPECT_EQ(decide_outcome(facts).detail,
              "the kernel floods its console: more than 16 MiB before the agent said hello; the console is empty");
}

TEST(Outcome, errors_of_workload_and_agent_are_told_apart) {
    auto facts = running();
    facts.agent_error = msg::AgentError{3, "ipcns-exit: unshare: No space left on device"};
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::workload_error);
    EXPECT_EQ(decide_outcome(facts).detail, "ipcns-exit: unshare: No space left on device");
    facts.agent_error = msg::AgentError{0, "out of memory"};
    facts.console_memory = "swapper/0: page allocation failure: order:4";
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
    facts.silent_for = "12.5 s";
    EXPECT_EQ(
        decide_outcome(facts).detail,
        "nothing within 5m 00s in run 3 of 5; console: rcu: INFO: rcu_sched self-detected stall on CPU; nothing on "
        "the console for the last 12.5 s");
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
    facts.shutdown_reason.clear();
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::boot_failure) << "nothing else makes QEMU end content";
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

TEST(Outcome, timers_that_do_not_work_are_the_hosts_fault) {
    auto facts = running();
    facts.done = true;
    facts.runs_finished = 5;
    facts.timer_trouble = "APIC timer disabled due to verification failure";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::ok) << "of another clock, or long ago";
    facts.timers_missing = true;
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
    BootFacts silent;
    silent.boot_limit_passed = true;
    EXPECT_EQ(decide_outcome(silent).outcome, Outcome::boot_failure);
    silent.false_starts_used_up = true;
    EXPECT_EQ(decide_outcome(silent).outcome, Outcome::infra_error);
    silent.hello = true;
    silent.boot_limit_passed = false;
    silent.run_limit_passed = true;
    EXPECT_EQ(decide_outcome(silent).outcome, Outcome::hang) << "it got there all the same";
}

TEST(Outcome, a_missing_cpu_is_the_kernels_fault) {
    auto facts = running();
    facts.missing_cpus = "the kernel brought up 1 of 2 CPUs";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::boot_failure);
    EXPECT_EQ(decide_outcome(facts).detail,
              "the kernel brought up 1 of 2 CPUs; last console line: Run /init as init process");
    facts.plan_mismatch = "the guest's clocksource is jiffies";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
}

TEST(Outcome, memory_that_runs_out_is_part_of_a_workload_error) {
    auto facts = running();
    facts.agent_error = msg::AgentError{3, "the agent was killed by signal 9 (Killed) in run 3 of 5"};
    facts.console_memory = "Out of memory: Killed process 17 (init)";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::workload_error);
    EXPECT_EQ(decide_outcome(facts).detail,
              "the agent was killed by signal 9 (Killed) in run 3 of 5; console: Out of memory: Killed process 17 "
              "(init)");
}

TEST(Outcome, an_agent_that_is_killed_between_two_runs_is_the_kernels_doing_where_memory_ran_out) {
    auto facts = running();
    facts.run_in_progress = 0;
    facts.agent_error = msg::AgentError{0, "the agent was killed by signal 9 (Killed)"};
    facts.console_memory = "Out of memory: Killed process 17 (init)";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::workload_error);
    EXPECT_EQ(decide_outcome(facts).detail,
              "the agent was killed by signal 9 (Killed) after run 2 of 5; console: Out of memory: Killed process 17 "
              "(init)");
    facts.hello = false;
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::workload_error);
    EXPECT_EQ(decide_outcome(facts).detail,
              "the agent was killed by signal 9 (Killed) before its hello; console: Out of memory: Killed process 17 "
              "(init)");
}

TEST(Outcome, an_agent_that_is_killed_for_no_known_reason_is_tried_again) {
    auto facts = running();
    facts.agent_error = msg::AgentError{3, "the agent was killed by signal 9 (Killed) in run 3 of 5"};
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
    EXPECT_EQ(decide_outcome(facts).detail, "kab-agent: the agent was killed by signal 9 (Killed) in run 3 of 5");
    facts.agent_error = msg::AgentError{0, "the agent was killed by signal 9 (Killed)"};
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
    EXPECT_EQ(decide_outcome(facts).detail, "kab-agent: the agent was killed by signal 9 (Killed)");
    facts.agent_error = msg::AgentError{3, "the agent was killed by signal 11 (Segmentation fault) in run 3 of 5"};
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::workload_error) << "of another death the run is the cause";
    facts.agent_error = msg::AgentError{3, "a child was killed by signal 9 (Killed)"};
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::workload_error) << "this is not PID 1's word";
}

TEST(Outcome, a_guest_that_stays_up_is_ok_and_a_complaint) {
    auto facts = running();
    facts.runs_finished = 5;
    facts.run_in_progress = 0;
    facts.done = true;
    EXPECT_FALSE(complaint_of_staying_up(facts, 12));
    facts.stayed_up = "30.0s";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::ok);
    auto complaint = complaint_of_staying_up(facts, 12);
    ASSERT_TRUE(complaint);
    EXPECT_EQ(complaint->kind, "shutdown");
    EXPECT_EQ(complaint->severity, "error");
    EXPECT_EQ(complaint->text,
              "the guest did not go down within 30.0s of its last run; last console line: Run /init as init process");
    EXPECT_EQ(complaint->line, 12);
    facts.console_stall = "INFO: task init:30 blocked for more than 15 seconds.";
    complaint = complaint_of_staying_up(facts, 12);
    EXPECT_EQ(complaint->text,
              "the guest did not go down within 30.0s of its last run; console: INFO: task init:30 blocked for more "
              "than 15 seconds.");
    EXPECT_EQ(complaint->signature, "the guest did not go down after its last run") << "the same in every boot";
}

TEST(Outcome, the_agents_own_words_are_not_lost_behind_the_kernels) {
    BootFacts facts;
    facts.boot_limit_passed = true;
    facts.limit = "60.0s";
    facts.last_agent_line = "kab-agent: no channel to the host";
    facts.last_console_line = "reboot: Restarting system";
    EXPECT_EQ(decide_outcome(facts).detail,
              "no hello from the agent within 60.0s; kab-agent: no channel to the host; last console line: reboot: "
              "Restarting system");
    facts.last_console_line = facts.last_agent_line;
    EXPECT_EQ(decide_outcome(facts).detail,
              "no hello from the agent within 60.0s; last console line: kab-agent: no channel to the host");
}

TEST(Outcome, a_machine_that_qemu_paused_is_not_the_guests_doing) {
    auto facts = running();
    facts.emulator_paused = true;
    facts.emulator_message = "KVM internal error. Suberror: 1";
    EXPECT_EQ(decide_outcome(facts).outcome, Outcome::infra_error);
    EXPECT_EQ(decide_outcome(facts).detail,
              "QEMU paused the machine in run 3 of 5; QEMU: KVM internal error. Suberror: 1");
    facts.emulator_paused = false;
    facts.run_limit_passed = true;
    facts.limit = "5m 00s";
    EXPECT_TRUE(decide_outcome(facts).detail.ends_with("; QEMU: KVM internal error. Suberror: 1"));
}

TEST(Outcome, the_line_that_tells_most_is_found) {
    EXPECT_EQ(telling_line("qemu: warning: x\nqemu: cannot set up guest memory\n\n"),
              "qemu: cannot set up guest memory");
    EXPECT_EQ(telling_line("KVM internal error. Suberror: 1\r\nemulation failure\nRAX=0\nCode=00 00\n"),
              "KVM internal error. Suberror: 1");
    EXPECT_EQ(telling_line(""), "");
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
