#pragma once
// What earlier evaluations of an experiment tell of the next one: how much boots and runs vary, how long a boot takes.
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/json.h"
#include "daemon/store/store.h"

namespace kab::cli {

struct Spread {
    std::string evaluation;      ///< uid
    int blocks = 0, points = 0;  ///< it is made from; of several points it is the mean
    int iterations = 0;          ///< runs a boot, at each point
    double boot = 0;             ///< variance on the scale of the metric (logarithms or plain)
    /// Absent with one run a boot, or where a quantile of its runs is judged: then `boot` is both together.
    std::optional<double> iteration;
};

struct BootTime {
    std::string evaluation, host, accel;  ///< of the last of these boots
    int boots = 0;
    Nanoseconds mean{0};  ///< from the start to the end of a boot: set-up, boot, work, tear-down
    /// Of another experiment on the same kind of kernel and machine, whose work is not this one's: `mean` is without
    /// it.
    bool without_runs = false;
};

struct Earlier {
    std::optional<Spread> spread;
    std::optional<BootTime> time;
};

/// What is looked for.
struct Wanted {
    std::string from;                   ///< an evaluation; or empty
    std::string experiment;             ///< its name
    std::string workload, metric;       ///< the primary
    std::vector<std::string> machines;  ///< machines_of() the experiment
    std::optional<double> quantile{};   ///< by which a boot is judged; else the mean of its runs
    bool exact = false;                 ///< measured in exact mode
    bool of_kernel = false;             ///< the primary is a share of the samples in the kernel, not of all
};

/// The kernels of an experiment (source and configuration of each arm, without patches, which hardly change how long a
/// boot takes) with the machine that boots them, as texts to compare. `experiment`: as experiment_json has it.
std::vector<std::string> machines_of(const Json& experiment);

/// From the evaluation `from`, or, where that is empty, from the newest of `experiment` that has what is looked for,
/// measured with the same score, as exactly and as a share of the same; evaluations that another kab wrote otherwise
/// are passed over. The time of a boot else from the newest evaluation that shares one of `machines`. Fault::not_found
/// for an unknown `from`, or one in which the primary tells no spread; Fault::io or timeout where the database cannot
/// be read.
Result<Earlier> find_earlier(const store::Store& store, const Wanted& wanted);

}  // namespace kab::cli
