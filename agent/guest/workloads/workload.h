#pragma once
// What a workload is. A new one is a file in this folder, a line in registry.cpp, and an entry in
// common/workload_catalog.cpp that names its parameters and metrics.
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guest/perf/meter.h"
#include "common/clock.h"
#include "common/result.h"
#include "protocol/messages.h"

namespace kab::guest {

/// What a run is given.
struct RunContext {
    /// Every parameter of the catalog, checked against its range.
    std::map<std::string, std::int64_t> with;
    /// Longest wait in drain(); known only then.
    Nanoseconds drain_limit{};
    /// Instructions are the clock: what is no function of them is absent.
    bool exact = false;

    std::int64_t parameter(const char* name) const { return with.at(name); }
};

/// Carries out runs, one after another: prepare, run, drain. One object serves all runs of a boot.
/// Every system call is checked, and an error of any of the three ends the boot as a workload-error,
/// so its text says which call failed, where, and what to do about it. The kernel's state that was
/// changed is restored by drain(), or by the destructor if that is not reached.
class Workload {
  public:
    virtual ~Workload() = default;

    /// Outside the clock, before the run.
    virtual Status prepare(const RunContext& context) = 0;

    /// Does the work, with meter.start() and meter.stop() around what counts, and gives its own
    /// metrics (which are left out of an iteration with counters).
    virtual Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) = 0;

    /// Outside the clock, after the run: waits until nothing of it is left in the kernel, and gives
    /// metrics of that. Fault::timeout after context.drain_limit.
    virtual Result<std::vector<msg::Sample>> drain(const RunContext& context, const Meter& meter) = 0;
};

/// A workload by the name it has in the catalog.
struct WorkloadEntry {
    std::string_view name;
    std::unique_ptr<Workload> (*make)();
};

/// All that this agent can run.
std::span<const WorkloadEntry> all_workloads();

}  // namespace kab::guest
