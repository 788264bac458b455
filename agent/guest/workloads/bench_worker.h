#pragma once
// The process in which a benchmark's loop runs, where wanted inside a nested PID namespace. It is a fork of the agent
// and as large as that: what a fork in the loop costs includes the copy of the agent's page tables, alike in all arms.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "agent/guest/perf/meter.h"
#include "common/files.h"
#include "common/result.h"

namespace kab::guest {

/// What the worker measured of itself.
struct WorkTimes {
    std::int64_t started_ns = 0, stopped_ns = 0;  ///< raw_clock_ns() around the loop
    std::int64_t system_ns = 0;                   ///< CPU time in the kernel meanwhile, where the work counts it

    std::int64_t elapsed_ns() const { return stopped_ns - started_ns; }
};

/// Called in the worker, in this order. An error of any ends the worker and becomes that of run_in_worker().
struct Work {
    std::function<Status()> get_ready = [] { return Status{}; };  ///< before the clock
    std::function<Result<WorkTimes>()> work;
    std::function<Status()> clean_up = [] { return Status{}; };  ///< after the clock
};

/// Forks the worker and waits until it has ended; the meter runs from when it is ready until it has done its work, and
/// counters include it, as it is a child. The times are the worker's own, as its parent sleeps.
///
/// `nested`: an ancestor of the worker calls unshare(CLONE_NEWPID), and the worker is process 1 of the new namespace.
/// Fault::usage where the kernel has no PID namespaces.
Result<WorkTimes> run_in_worker(const Work& work, bool nested, Meter& meter);

/// Forks, calls `child` there and ends it with what that returns. The child's pid.
Result<pid_t> fork_child(const char* what, const std::function<int()>& child);

/// Waits for a child that must exit with 0. `what` names it in errors.
Status reap(pid_t child, const std::string& what);

}  // namespace kab::guest
