#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "spawn", UnixBench's process creation: a process forks a child that exits at once and waits for it, `loops` times.
///
/// Metrics: `rate`, loops a second from before the first fork until the last child is reaped, and UnixBench's `index`.
std::unique_ptr<Workload> make_spawn();

}  // namespace kab::guest
