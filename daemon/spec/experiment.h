#pragma once
// An experiment as plain data, after parsing and checking. Every default is filled in.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/workload_catalog.h"

namespace kab {

/// Where a kernel comes from. Paths are absolute after resolve().
struct Source {
    enum class Kind { tarball, git, dir, image };
    Kind kind = Kind::tarball;
    std::string location;                ///< path, or URL for git
    std::string ref;                     ///< git only; default HEAD
    std::optional<std::string> modules;  ///< image only: directory of modules to pack into the initramfs
};

/// A kernel variant: defaults of `kernel:` already merged in (an arm's own key replaces the default;
/// `patches` and `config` of an arm are appended to the defaults').
struct KernelSpec {
    Source source;
    std::string base = "tinyconfig";   ///< "tinyconfig", "defconfig" or a file
    std::vector<std::string> config;   ///< fragments, applied in order
    std::vector<std::string> patches;  ///< files, mailboxes or directories with a `series`
    std::string command_line;          ///< appended to kab's own
};

struct Arm {
    std::string name;
    KernelSpec kernel;
    std::string against;  ///< the arm it is judged against; empty for the first (baseline)
};

/// One combination of swept parameters: name → value, all parameters of the workload included.
using Parameters = std::map<std::string, std::int64_t>;

/// Sampling of the kernel in iterations of their own. `share:NAME` of each group is a metric of the workload.
struct ProfileSpec {
    struct Group {
        std::string name;
        std::vector<std::string> symbols;  ///< where the sample was taken
        std::vector<std::string> callers;  ///< empty: any
        Better better = Better::neither;   ///< shares add up to 1: where one falls others rise, so each must say
        bool of_kernel = false;            ///< a share of the samples in the kernel, not of all
    };
    int frequency_hz = 997;  ///< samples a second on each CPU
    int iterations = 1;      ///< profiled iterations a boot, at each point
    std::vector<Group> groups;
};

struct WorkloadSpec {
    std::string workload;                                    ///< catalog name
    Parameters with;                                         ///< fixed parameters, defaults filled in
    std::map<std::string, std::vector<std::int64_t>> sweep;  ///< several keys: their product
    int iterations = 5;                                      ///< timed iterations a boot
    int warmup = 1;                                          ///< iterations before them, flagged
    std::vector<std::string> counters;                       ///< perf events
    int counter_iterations = 1;                              ///< iterations with counters on; 0 without counters
    std::optional<ProfileSpec> profile;
    std::optional<double> quantile;  ///< score of a boot by this quantile of its iterations; else by their mean

    /// The product of the sweep in the order of the file's values; one point when nothing is swept.
    std::vector<Parameters> points() const;
};

/// A self-check of what the patches touch: run in a boot of every arm before the first block.
struct CheckSpec {
    std::string check;        ///< catalog name
    Parameters with;          ///< defaults filled in
    bool debug_only = false;  ///< needs what only the debug variants have
};

/// The variant of each built arm on which the checks run as well: the arm with these appended.
struct DebugSpec {
    std::vector<std::string> config, patches;
    bool empty() const { return config.empty() && patches.empty(); }  ///< no variant
};

/// Causes for which a block is booted again, declared beforehand and blind to the arm. Absent: measured and shown only.
struct Exclude {
    std::optional<double> host_load;  ///< runnable tasks of others per CPU of the host, when a run starts
    std::optional<double> steal;      ///< share of the host's CPU time in a run
    std::optional<double> run_delay;  ///< share of a run that virtual CPUs waited for a CPU of the host
    std::optional<double> canary;     ///< share by which a fixed loop was slower than the block's fastest
    bool throttled = false;           ///< a CPU of the host was throttled in a run
};

struct HostSpec {
    enum class Accel { automatic, kvm, tcg };
    enum class Machine { automatic, microvm, q35 };
    std::string kind = "qemu";
    int cpus = 2;
    std::int64_t memory_bytes = 512LL << 20;
    Accel accel = Accel::automatic;
    Machine machine = Machine::automatic;
    bool exact = false;        ///< one virtual CPU whose clock counts instructions
    bool vary_timer = true;    ///< exact: the phase of the timer differs from block to block
    bool vary_layout = false;  ///< exact: so does the layout of memory
};

struct Decide {
    std::string primary;                        ///< "workload/metric"
    Parameters at;                              ///< the point of its sweep that decides; empty: the mean over all
    double margin = 0.02;                       ///< share, for log metrics; absolute for linear ones
    double alpha = 0.05;                        ///< two-sided, familywise over arms
    std::vector<int> looks{6, 10, 16, 24, 32};  ///< blocks after which the data is looked at
    std::optional<int> fixed;                   ///< a fixed number of blocks instead of looks
    bool control = true;                        ///< the hidden A' arm
    bool relink = false;                        ///< one more: the baseline with its code moved
    std::optional<std::uint64_t> seed;          ///< else drawn at submission
};

struct Limits {
    Nanoseconds boot = std::chrono::seconds(60);
    Nanoseconds run = std::chrono::minutes(5);
    Nanoseconds block = std::chrono::minutes(20);
    Nanoseconds evaluation = std::chrono::hours(24);
    Nanoseconds build = std::chrono::hours(2);
};

struct Experiment {
    std::string name;
    std::string question;
    std::vector<Arm> arms;  ///< in the order of the file; the first is the baseline
    std::vector<WorkloadSpec> workloads;
    std::vector<CheckSpec> checks;
    DebugSpec debug;  ///< empty without checks
    HostSpec host;
    Exclude exclude;
    Decide decide;
    Limits limits;
};

}  // namespace kab
