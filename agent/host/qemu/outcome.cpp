#include "agent/host/qemu/outcome.h"

#include <fmt/core.h>

#include <sstream>

namespace kab::qemu {
namespace {

using msg::Outcome;

std::string last_words(const BootFacts& facts) {
    // The agent says why it gives up; the kernel often says something ordinary after it.
    if (!facts.last_agent_line.empty() && facts.last_agent_line != facts.last_console_line) {
        return facts.last_agent_line + "; last console line: " + facts.last_console_line;
    }
    if (facts.last_console_line.empty()) return "the console is empty";
    return "last console line: " + facts.last_console_line;
}

std::string with_message(std::string detail, const BootFacts& facts) {
    if (!facts.emulator_message.empty()) detail += "; QEMU: " + facts.emulator_message;
    return detail;
}

std::string where(const BootFacts& facts) {
    if (facts.run_in_progress > 0) return fmt::format("in run {} of {}", facts.run_in_progress, facts.runs_planned);
    return fmt::format("after run {} of {}", facts.runs_finished, facts.runs_planned);
}

/// QEMU is gone and nobody asked it to go; nothing else explains it.
Verdict judge_exit(const BootFacts& facts) {
    // A QEMU that is content and says nothing of a reason was ended by its guest: with -no-reboot that is an exit.
    const bool by_guest =
        facts.emulator->ok() && (facts.shutdown_reason.empty() || facts.shutdown_reason.starts_with("guest"));
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
    std::string stall = facts.console_stall.empty() ? last_words(facts) : "console: " + facts.console_stall;
    if (!facts.silent_for.empty()) stall += "; nothing on the console for the last " + facts.silent_for;
    if (facts.boot_limit_passed) {
        return {Outcome::boot_failure,
                with_message(fmt::format("no hello from the agent within {}; {}", facts.limit, stall), facts)};
    }
    return {Outcome::hang,
            with_message(fmt::format("nothing within {} {}; {}", facts.limit, where(facts), stall), facts)};
}

/// The clock and the timers are what measuring rests on.
std::optional<Verdict> judge_machine(const BootFacts& facts) {
    // A kernel without CONFIG_HIGH_RES_TIMERS says nothing; one that tried and failed does.
    if (facts.timers_missing || (!facts.hello && facts.false_starts_used_up)) {
        return Verdict{Outcome::infra_error, "the guest has no high-resolution timers (" + facts.timer_trouble +
                                                 "): is this machine busy with something else?"};
    }
    if (!facts.plan_mismatch.empty()) return Verdict{Outcome::infra_error, facts.plan_mismatch};
    if (!facts.missing_cpus.empty()) {
        return Verdict{Outcome::boot_failure, facts.missing_cpus + "; " + last_words(facts)};
    }
    return std::nullopt;
}

/// What PID 1 says of an agent that got SIGKILL (describe_exit in agent/guest/text.h).
constexpr std::string_view agent_killed = "the agent was killed by signal 9 ";

Verdict judge_agent_error(const BootFacts& facts) {
    const auto& error = *facts.agent_error;
    const bool killed = error.message.starts_with(agent_killed);
    const bool in_run = error.seq != 0;
    // A kernel that leaks has its out-of-memory killer do it, be it between two runs or in a drain. Nobody else in a
    // guest kills with this signal: without a word on the console it is not known to be the kernel's or the run's
    // doing.
    if (killed && facts.console_memory.empty()) return {Outcome::infra_error, "kab-agent: " + error.message};
    if (!in_run && !killed) return {Outcome::infra_error, "kab-agent: " + error.message};
    std::string detail = error.message;
    if (!in_run) detail += " " + (facts.hello ? where(facts) : "before its hello");
    if (!facts.console_memory.empty()) detail += "; console: " + facts.console_memory;
    return {Outcome::workload_error, std::move(detail)};
}

Verdict judge_flood(const BootFacts& facts) {
    return {Outcome::hang, fmt::format("the kernel floods its console: more than {} MiB {}; {}", largest_console >> 20,
                                       facts.hello ? where(facts) : "before the agent said hello", last_words(facts))};
}

}  // namespace

Verdict decide_outcome(const BootFacts& facts) {
    // A fault of the kernel comes first: nothing may hide it.
    if (!facts.console_fault.empty()) return {Outcome::kernel_crash, facts.console_fault};
    if (facts.console_flood) return judge_flood(facts);
    if (facts.cancelled) return {Outcome::cancelled, "cancelled"};
    // Trying again would not help, so this is no infra-error.
    if (!facts.request_failure.empty()) return {Outcome::boot_failure, facts.request_failure};
    if (!facts.host_failure.empty()) return {Outcome::infra_error, facts.host_failure};
    if (auto verdict = judge_machine(facts)) return std::move(*verdict);
    if (!facts.agent_nonsense.empty()) return {Outcome::infra_error, "kab-agent: " + facts.agent_nonsense};
    if (facts.agent_error) return judge_agent_error(facts);
    if (facts.done) {
        if (facts.runs_finished == facts.runs_planned) return {Outcome::ok, {}};
        return {Outcome::infra_error,
                fmt::format("kab-agent says it is done after {} of {} runs", facts.runs_finished, facts.runs_planned)};
    }
    if (facts.emulator_paused) {
        return {Outcome::infra_error,
                with_message("QEMU paused the machine " +
                                 std::string(facts.hello ? where(facts) : "before the agent said hello"),
                             facts)};
    }
    if (facts.boot_limit_passed || facts.run_limit_passed) return judge_limits(facts);
    if (facts.emulator) return judge_exit(facts);
    return {Outcome::infra_error, "the boot ended for no known reason"};
}

std::optional<msg::ConsoleEvent> complaint_of_staying_up(const BootFacts& facts, std::int64_t line) {
    if (facts.stayed_up.empty()) return std::nullopt;
    msg::ConsoleEvent event;
    event.kind = "shutdown";
    event.severity = "error";
    event.signature = "the guest did not go down after its last run";
    event.text = fmt::format("the guest did not go down within {} of its last run; {}", facts.stayed_up,
                             facts.console_stall.empty() ? last_words(facts) : "console: " + facts.console_stall);
    event.line = line;
    return event;
}

std::string telling_line(const std::string& text) {
    std::string last;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        line.erase(line.find_last_not_of(" \t\r") + 1);
        if (line.starts_with("KVM internal error") || line.starts_with("error: kvm")) return line;
        if (!line.empty()) last = std::move(line);
    }
    return last;
}

}  // namespace kab::qemu
