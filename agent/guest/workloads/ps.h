#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "ps": `processes` processes sleep; another lists /proc and reads stat, status and cmdline of every process there,
/// as ps(1) does, `loops` times. Nested, the listing process has mounted the /proc of its own namespace.
///
/// Metrics: `system-time`, CPU time of the listing process in the kernel, and `elapsed`, both from before the first
/// listing until after the last: the processes are made and ended outside the clock. The kernel splits CPU time into
/// that in it and that of the program by its ticks: `system-time` is as coarse as they are, and absent in exact mode.
std::unique_ptr<Workload> make_ps();

}  // namespace kab::guest
