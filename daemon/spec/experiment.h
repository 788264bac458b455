#pragma once
// An experiment as plain data, after parsing and checking. Every default is filled in.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"

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

struct WorkloadSpec {
    std::string workload;                                    ///< catalog name
    Parameters with;                                         ///< fixed parameters, defaults filled in
    std::map<std::string, std::vector<std::int64_t>> sweep;  ///< several keys: their product
    int iterations = 5;                                      ///< timed iterations a boot
    int warmup = 1;                                          ///< iterations before them, flagged
    std::vector<std::string> counters;                       ///< perf events
    int counter_iterations = 1;                              ///< iterations with counters on; 0 without counters

    /// The product of the sweep in the order of the file's values; one point when nothing is swept.
    std::vector<Parameters> points() const;
};

struct HostSpec {
    enum class Accel { automatic, kvm, tcg };
    enum class Machine { automatic, microvm, q35 };
    std::string kind = "qemu";
    int cpus = 2;
    std::int64_t memory_bytes = 512LL << 20;
    Accel accel = Accel::automatic;
    Machine machine = Machine::automatic;
};

struct Decide {
    std::string primary;                        ///< "workload/metric"
    double margin = 0.02;                       ///< share, for log metrics; absolute for linear ones
    double alpha = 0.05;                        ///< two-sided, familywise over arms
    std::vector<int> looks{6, 10, 16, 24, 32};  ///< blocks after which the data is looked at
    std::optional<int> fixed;                   ///< a fixed number of blocks instead of looks
    bool control = true;                        ///< the hidden A' arm
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
    HostSpec host;
    Decide decide;
    Limits limits;
};

}  // namespace kab
