#pragma once
// What earlier evaluations of an experiment tell of the next one: how much boots and runs vary, how long a boot takes.
#include <optional>
#include <string>

#include "common/clock.h"
#include "daemon/store/store.h"

namespace kab::cli {

struct Spread {
    std::string evaluation;           ///< uid
    int blocks = 0, points = 0;       ///< it is made from; of several points it is the mean
    double boot = 0;                  ///< variance on the scale of the metric (logarithms or plain)
    std::optional<double> iteration;  ///< absent with one run a boot: then `boot` is both together
};

struct BootTime {
    std::string evaluation, host, accel;  ///< of the last of these boots
    int boots = 0;
    Nanoseconds mean{0};  ///< from the start to the end of a boot: set-up, boot, work, tear-down
};

struct Earlier {
    std::optional<Spread> spread;
    std::optional<BootTime> time;
};

/// From the evaluation `from`, or, where that is empty, from the newest of `experiment` that has what is looked for.
/// Fault::not_found for an unknown `from`, or one in which `workload`/`metric` tells no spread.
Result<Earlier> find_earlier(const store::Store& store, const std::string& from, const std::string& experiment,
                             const std::string& workload, const std::string& metric);

}  // namespace kab::cli
