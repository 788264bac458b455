#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "pid-check": what a model of PID namespaces must do, whichever it is. The model is told by its behaviour: namespaces
/// are nested until the kernel refuses. Where it has none (CONFIG_PID_NS is off) both ways to ask for one must fail
/// with EINVAL; else the limit must be ENOSPC, at the depth that "kab.pid_levels=N" on the kernel's command line names
/// if it is there (N counts the initial namespace too: 2 is the flat model, 33 is mainline), and at most 32.
///
/// Then, with at least one nested level: a process has one number inside and another outside, which /proc, SCM and
/// SO_PEERCRED credentials, pidfds and the returns of fork agree on; signals, sessions and process groups go by them;
/// what is not in a namespace cannot be reached from inside; process 1 adopts and reaps orphans, cannot be killed from
/// inside, and takes all others with it; and clone3 gives the numbers that it is asked for.
///
/// On a machine that is the agent's own (process 1 is the agent), as it lowers limits that are everybody's: `rounds`
/// namespaces that were left are really freed, by the count of user.max_pid_namespaces, within the time to drain. With
/// nesting and without: kernel.pid_max is lowered while more processes come and go than there are numbers, of which
/// none may be lost, and the kernel's memory may not grow with each process. The console then says so.
std::unique_ptr<Workload> make_pid_check();

}  // namespace kab::guest
