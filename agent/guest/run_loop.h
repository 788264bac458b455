#pragma once
// The conversation with kab-host after the hello: the plan comes, its runs are carried out in order.
#include <functional>
#include <span>
#include <string>

#include "agent/guest/channel.h"
#include "agent/guest/ending.h"
#include "agent/guest/environment.h"
#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// The wait for what a run left behind where the plan gives no limit.
inline constexpr Nanoseconds default_drain_limit = std::chrono::minutes(1);

struct RunLoopResult {
    Ending ending = Ending::done;
    std::string message;  ///< what went wrong; empty when done
};

/// Takes the AgentPlan from the file `packed`, if there is one (exact mode, in which nothing is received), else waits
/// for it, and checks all of it against the catalog and `workloads` first. Then, for each run: RunStarted, the
/// workload, RunFinished with its samples and the canary beside it. A timed run gives the workload's own metrics; one
/// with counters gives these, counted-elapsed, machine-busy and drain-busy; a profiled one its profile and the shares
/// of its groups. What a run left is drained either way, before its RunFinished; that ends in time for the host to hear
/// why, a moment before the plan's limit of a run. An error of a workload becomes AgentError with the run's seq
/// ("ipcns-exit: ..."), anything else AgentError with seq 0, and ends it. `still_sound` is asked at the very end
/// whether the machine is what it was: if not, the boot's figures are not to be trusted and it ends with an AgentError
/// too. `get_ready` is asked when the first run has started: what the machine lacks is the error of that run. What
/// `after_check` finds is the error of the check that has just passed: the kernel's lock validation, where it has one,
/// must still be on.
RunLoopResult run_loop(
    Channel& channel, std::span<const WorkloadEntry> workloads, const std::function<Status()>& still_sound,
    const fs::path& packed = {}, const std::function<Status()>& get_ready = [] { return Status{}; },
    const std::function<Status()>& after_check = [] { return check_lock_validation(); });

}  // namespace kab::guest
