#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "proc-read" (the benchmark of the 2012 discussion of the use count of /proc entries): `tasks`
/// processes, each pinned to one CPU (the CPUs in turn when there are more tasks than CPUs) and with
/// `memory` KiB of its own, wait on one cell for the go, then each opens /proc/cpuinfo, reads
/// `chunk` bytes and closes it, `loops` times. They spin on the cell while there is a CPU for each,
/// and sleep in a futex beyond.
///
/// Metric: `elapsed`, from the go until the last task has done its last close. Tasks exist before the
/// go and end after the clock has stopped, so neither fork nor exit is in it.
std::unique_ptr<Workload> make_proc_read();

}  // namespace kab::guest
