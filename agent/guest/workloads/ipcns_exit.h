#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "ipcns-exit" (the benchmark of the 2012 discussion of freeing ipc namespaces from a workqueue):
/// the parent forks `children` processes in a loop; each leaves its IPC namespace by
/// unshare(CLONE_NEWIPC) and exits at once, which leaves the new namespace behind as well; the parent
/// waits for all. With `concurrency` N at most N children are alive, or not yet waited for, at a time.
///
/// Metrics: `elapsed`, from before the first fork until the last child is reaped; `backlog`, from
/// then until every namespace of the run is really freed, to about 1 ms (the least it can be is the
/// time of one fork and unshare).
///
/// A run leaves up to `children` namespaces to be freed, so prepare() raises user.max_ipc_namespaces
/// to fit them when it is lower, and drain() restores it.
std::unique_ptr<Workload> make_ipcns_exit();

}  // namespace kab::guest
