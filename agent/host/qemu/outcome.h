#pragma once
// What is known at the end of a boot, and what that makes of it. Pure.
#include <optional>
#include <string>

#include "common/process/spec.h"
#include "protocol/messages.h"

namespace kab::qemu {

/// A boot prints some kilobytes. One that prints more than this in bytes is ended; all until then is kept.
inline constexpr std::int64_t largest_console = 16LL << 20;

struct BootFacts {
    bool cancelled = false;
    std::string request_failure;  ///< what the request cannot have: no kernel, no such machine
    std::string host_failure;     ///< ours: what could not be prepared, written or understood
    std::string console_fault;    ///< first fatal finding on the console
    std::string console_stall;    ///< first lockup, stall or hung task there
    std::string console_memory;   ///< the first time that memory ran out there
    bool console_flood = false;   ///< it grew beyond largest_console
    std::string last_console_line;
    std::string last_agent_line;  ///< the last that the agent wrote to the console
    std::string silent_for;       ///< how long nothing had come on the console when a limit passed; empty: nothing ever
    bool hello = false;
    std::string timer_trouble;                   ///< console line about timers that do not work
    bool false_starts_used_up = false;           ///< they did not work in the last start either
    bool timers_missing = false;                 ///< hello tells of none, though they are planned and the kernel tried
    std::string plan_mismatch;                   ///< hello tells of another machine than planned
    std::string missing_cpus;                    ///< hello tells that the kernel did not bring all CPUs up
    std::optional<msg::AgentError> agent_error;  ///< its seq is that of the run in progress, if it had none
    std::string agent_nonsense;                  ///< what the agent said was not understood
    bool done = false;
    std::string stayed_up;  ///< how long it was given to go down once done, in vain: "30.0s"; empty: it went down
    std::int64_t runs_planned = 0, runs_finished = 0;
    std::int64_t run_in_progress = 0;  ///< seq; 0: none
    bool boot_limit_passed = false;
    bool run_limit_passed = false;
    std::string limit;                   ///< the one that passed, as people write it: "60s"
    bool emulator_paused = false;        ///< QEMU stopped the machine by itself: it cannot go on
    std::optional<ExitStatus> emulator;  ///< how QEMU ended by itself; empty if we ended it
    std::string emulator_message;        ///< what it wrote to stderr, the line that tells most
    std::string shutdown_reason;         ///< by QMP: "guest-reset", "guest-panic", "host-signal", ...
};

struct Verdict {
    msg::Outcome outcome = msg::Outcome::infra_error;
    std::string detail;  ///< one line; empty when ok
};

Verdict decide_outcome(const BootFacts& facts);

/// A guest whose samples are complete and that never reset after them: no outcome, but a complaint. `line`: the number
/// of lines on its console.
std::optional<msg::ConsoleEvent> complaint_of_staying_up(const BootFacts& facts, std::int64_t line);

/// Of what QEMU wrote to stderr: the line about KVM that comes before a dump of registers, else the last.
std::string telling_line(const std::string& text);

}  // namespace kab::qemu
