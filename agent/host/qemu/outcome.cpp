#include "agent/host/qemu/outcome.h"

#include <fmt/core.h>

namespace kab::qemu {
namespace {

using msg::Outcome;

std::string last_words(const BootFacts& facts) {
    if (facts.last_console_line.empty()) return "the console is empty";
    return "last console line: " + facts.last_console_line;
}

std::string where(const BootFacts& facts) {
    if (facts.run_in_progress > 0) return fmt::format("in run {} of {}", facts.run_in_progress, facts.runs_planned);
    return fmt::format("after run {} of {}", facts.runs_finished, facts.runs_planned);
}

/// QEMU is gone and nobody asked it to go; nothing else explains it.
Verdict judge_exit(const BootFacts& facts) {
    const bool by_guest = facts.emulator->ok() && facts.shutdown_reason.starts_with("guest");
    if (!by_guest) {
        std::string detail = "QEMU ended with " + to_string(*facts.emulator);
        if (!facts.emulator_message.empty()) detail += ": " + facts.emulator_message;
        return {Outcome::infra_error, std::move(detail)};
    }
    if (!facts.hello) {
        return {Outcome::boot_failure, "the guest reset before the agent said hello; " + last_words(facts)};
    }
    return {Outcome::kernel_crash,
            fmt::format("the guest reset without a word {}; {}", where(facts), last_words(facts))};
}

Verdict judge_limits(const BootFacts& facts) {
    const std::string stall = facts.console_stall.empty() ? last_words(facts) : "console: " + facts.console_stall;
    if (facts.boot_limit_passed) {
        return {Outcome::boot_failure, fmt::format("no hello from the agent within {}; {}", facts.limit, stall)};
    }
    return {Outcome::hang, fmt::format("nothing within {} {}; {}", facts.limit, where(facts), stall)};
}

}  // namespace

Verdict decide_outcome(const BootFacts& facts) {
    // A fault of the kernel comes first: nothing may hide it.
    if (!facts.console_fault.empty()) return {Outcome::kernel_crash, facts.console_fault};
    if (facts.console_flood) return {Outcome::hang, "the kernel floods its console; " + last_words(facts)};
    if (facts.cancelled) return {Outcome::cancelled, "cancelled"};
    // Trying again would not help, so this is no infra-error.
    if (!facts.request_failure.empty()) return {Outcome::boot_failure, facts.request_failure};
    if (!facts.host_failure.empty()) return {Outcome::infra_error, facts.host_failure};
    // A kernel without CONFIG_HIGH_RES_TIMERS says nothing; one that tried and failed does.
    if (facts.hello && !facts.high_resolution_timers && !facts.timer_trouble.empty()) {
        return {Outcome::infra_error, "the guest has no high-resolution timers (" + facts.timer_trouble +
                                          "): is this machine busy with something else?"};
    }
    if (!facts.plan_mismatch.empty()) return {Outcome::infra_error, facts.plan_mismatch};
    if (!facts.agent_nonsense.empty()) return {Outcome::infra_error, "kab-agent: " + facts.agent_nonsense};
    if (facts.agent_error) {
        const bool workload = facts.agent_error->seq > 0;
        return {workload ? Outcome::workload_error : Outcome::infra_error,
                (workload ? "" : "kab-agent: ") + facts.agent_error->message};
    }
    if (facts.done) {
        if (facts.runs_finished == facts.runs_planned) return {Outcome::ok, {}};
        return {Outcome::infra_error,
                fmt::format("kab-agent says it is done after {} of {} runs", facts.runs_finished, facts.runs_planned)};
    }
    if (facts.boot_limit_passed || facts.run_limit_passed) return judge_limits(facts);
    if (facts.emulator) return judge_exit(facts);
    return {Outcome::infra_error, "the boot ended for no known reason"};
}

}  // namespace kab::qemu
