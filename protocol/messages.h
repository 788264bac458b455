#pragma once
// What kabd, kab-host and kab-agent say to each other. Frames: protocol/framing.h.
// Times are integer nanoseconds, counts integers. Unknown fields are ignored; an unknown
// type is a Fault::protocol, after which the connection ends.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/result.h"

namespace kab::msg {

inline constexpr int protocol_major = 1;  ///< another major is refused
inline constexpr int protocol_minor = 2;

/// First message of each side of kabd <-> kab-host.
struct Hello {
    std::string role;  ///< "kabd" or "kab-host"
    int major = protocol_major, minor = protocol_minor;
    std::string build;                              ///< version of the program
    std::vector<std::string> capabilities;          ///< "qemu"
    std::map<std::string, std::string> properties;  ///< of the host: cpu, cores, qemu version, kvm (yes, or why not)
};

// ---- what runs in a boot: planned by kabd, carried out in order by kab-agent ----

/// A named set of kernel symbols whose share of a profile is a metric, "share:NAME".
struct ProfileGroup {
    std::string name;
    std::vector<std::string> symbols;  ///< where the sample was taken
    std::vector<std::string> callers;  ///< empty: any; else only samples called from one of these
    bool of_kernel = false;            ///< the share of the samples in the kernel, not of all
    bool operator==(const ProfileGroup&) const = default;
};

/// What to sample in a run. A frequency of 0 is no profile.
struct ProfileOrder {
    std::int64_t frequency_hz = 0;  ///< samples a second on each CPU
    std::vector<ProfileGroup> groups;
    bool operator==(const ProfileOrder&) const = default;
};

/// One iteration of one workload at one point: timed, or counted (counters), or profiled, or a check.
struct RunOrder {
    std::int64_t seq = 0;  ///< position in the boot, from 1
    std::string workload;
    std::int64_t point = 0;  ///< index of the point within the workload
    std::map<std::string, std::int64_t> with;
    std::int64_t iteration = 0;  ///< within its kind and point, from 0
    bool warmup = false;
    std::vector<std::string> counters;  ///< not empty: a counted run
    ProfileOrder profile{};             ///< frequency not 0: a profiled run
    bool check = false;                 ///< a self-check of the kernel: it succeeds or ends the boot; never a timing
};

/// kab-host -> kab-agent, once.
struct AgentPlan {
    std::vector<RunOrder> runs;
    std::int64_t drain_limit_ns = 0;  ///< longest wait for what a run left behind
    /// From RunStarted to RunFinished, after which kab-host gives the guest up; set by kab-host. 0: unknown.
    std::int64_t run_limit_ns = 0;
    /// Exact mode: the plan is read from the initramfs, nothing is received before the last run, and each run begins
    /// this long after a timer tick, on a heap and stacks moved by that many pages.
    bool exact = false;
    std::int64_t timer_phase_ns = 0, layout_pages = 0;
};

/// kab-agent -> kab-host, first.
struct AgentHello {
    int major = protocol_major, minor = protocol_minor;
    std::string build;
    // the environment, as found in the guest
    std::string release;       ///< uname -r
    std::string version;       ///< uname -v
    std::string command_line;  ///< /proc/cmdline
    std::string cpu_model, microcode;
    std::int64_t cpus = 0;
    std::int64_t memory_bytes = 0;
    std::string clocksource;
    bool high_resolution_timers = false;
    bool high_resolution_inactive = false;           ///< the kernel has them, but they are not in use
    std::string governor;                            ///< empty when there is none
    std::string lock_kind;                           ///< "queued", "test-and-set", "pv", "unknown"
    std::map<std::string, std::string> mitigations;  ///< /sys/devices/system/cpu/vulnerabilities
    std::vector<std::string> warnings;               ///< e.g. debug options found on
};

/// kab-agent -> kab-host: a run starts (its deadline starts too).
struct RunStarted {
    std::int64_t seq = 0;
};

struct Sample {
    std::string metric;
    std::optional<double> value;                         ///< in the metric's unit; absent with a reason
    std::string reason;                                  ///< why absent; empty otherwise
    std::optional<std::int64_t> enabled_ns, running_ns;  ///< counters only; value is already scaled
};

/// Samples of a profile that fell on one kernel symbol.
struct ProfileSymbol {
    std::string symbol;        ///< "[user]" for all of user space, "[unknown]" where there is no symbol
    std::string caller;        ///< of a symbol in a group: the nearest caller that is in none; else empty
    std::int64_t samples = 0;  ///< at least 1
};

/// A finished run with its samples. Sent by the agent, passed on by the host with `attempt` set.
struct RunFinished {
    std::string attempt;  ///< uid; empty between agent and host
    std::int64_t seq = 0;
    std::int64_t started_ns = 0;  ///< guest CLOCK_MONOTONIC_RAW
    std::vector<Sample> samples;
    /// How quiet the machine was: "canary" (ns) from the agent; "steal", "run-delay", "host-load", "throttled" from
    /// the host. Never compared between arms; docs/statistics.md, exclusions.
    std::vector<Sample> conditions{};
    std::vector<ProfileSymbol> profile{};  ///< of a profiled run, most samples first
};

/// kab-agent -> kab-host: it cannot go on. A workload-error when `seq` > 0, else its own fault.
struct AgentError {
    std::int64_t seq = 0;
    std::string message;  ///< "ipcns-exit: unshare(CLONE_NEWIPC) in child 17: No space left on device"
};

/// kab-agent -> kab-host: all runs are done; the machine goes down next. The host answers this and AgentError
/// with Shutdown, which the agent waits for a moment: what a guest says right before a reset can get lost.
struct AgentDone {
    std::int64_t runs = 0;
};

// ---- kabd <-> kab-host ----

struct BootRequest {
    std::string attempt;           ///< uid; the idempotency key
    std::string kernel;            ///< absolute path of a vmlinux (ELF with PVH note) or bzImage
    std::string modules;           ///< directory of modules for the initramfs; may be empty
    std::string command_line;      ///< the experiment's addition
    std::string accel = "auto";    ///< auto, kvm, tcg
    std::string machine = "auto";  ///< auto, microvm, q35
    std::int64_t cpus = 1;
    std::int64_t memory_bytes = 0;
    bool exact = false;              ///< emulate with instruction counts as the clock; the plan goes into the initramfs
    std::int64_t boot_limit_ns = 0;  ///< spawn to agent hello
    std::int64_t run_limit_ns = 0;   ///< one run with its drain
    AgentPlan plan;
    std::string console_path;  ///< where the host writes the whole console (a file it creates)
};

struct CancelBoot {
    std::string attempt;
};

/// kabd has committed the samples of all runs up to `seq`.
struct SampleAck {
    std::string attempt;
    std::int64_t seq = 0;
};

struct Shutdown {};

/// Progress for people; not stored. phase: "starting", "booting", "running".
struct BootProgress {
    std::string attempt, phase;
    std::int64_t done = 0, total = 0;  ///< runs
};

/// The guest said hello.
struct BootHello {
    std::string attempt;
    AgentHello agent;
    std::string accel;         ///< what is really used: "kvm" or "tcg"
    std::string accel_reason;  ///< why not KVM
    std::string machine;       ///< "microvm" or "q35"
    std::string emulator;      ///< "QEMU emulator version 7.2.22 (...)"
    std::string channel;       ///< "virtio" or "ttyS1"
    std::string pinning;       ///< "yes", or why the virtual CPUs are not bound to CPUs of the host
    std::string agent_sha256;  ///< of the kab-agent that was packed into the initramfs
    std::string shell_sha256;  ///< of the guests' shell there; empty without one
};

enum class Outcome { ok, boot_failure, kernel_crash, hang, workload_error, infra_error, cancelled };
const char* to_string(Outcome outcome);  ///< "boot-failure" ...
Result<Outcome> parse_outcome(const std::string& text);

struct ConsoleEvent {
    std::string kind;       ///< panic, oops, bug, warning, lockup, ... (docs/booting.md)
    std::string severity;   ///< "fatal", "error", "warning"
    std::string signature;  ///< normalised, groups the same fault across boots
    std::string text;       ///< the line with its context
    std::int64_t line = 0;  ///< line of the console, from 1
};

/// Last message about an attempt.
struct BootFinished {
    std::string attempt;
    Outcome outcome = Outcome::infra_error;
    std::string detail;            ///< one line; empty when ok
    std::int64_t runs = 0;         ///< RunFinished messages sent
    std::int64_t setup_ns = 0;     ///< request received to emulator started
    std::int64_t hello_ns = 0;     ///< emulator started to hello; 0 if it never came
    std::int64_t work_ns = 0;      ///< hello to done
    std::int64_t teardown_ns = 0;  ///< done to emulator gone and all cleaned up
    /// Times that the emulator was started anew, before anything of the guest counted, as its timers did not work.
    std::int64_t false_starts = 0;
    std::int64_t console_bytes = 0;
    std::vector<ConsoleEvent> console;
};

using Message = std::variant<Hello, AgentPlan, AgentHello, RunStarted, RunFinished, AgentError, AgentDone, BootRequest,
                             CancelBoot, SampleAck, Shutdown, BootProgress, BootHello, BootFinished>;

/// JSON with a "type" ("boot-request", ...), without the length prefix.
std::string encode(const Message& message);
Result<Message> decode(std::string_view json);

}  // namespace kab::msg
