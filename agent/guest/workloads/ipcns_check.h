#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// Are IPC namespaces isolated, and really freed with all that was in them? Children fill a namespace of their own with
/// semaphores, shared memory and messages and exit without removing any of it; others enter a namespace that its last
/// process is just leaving. Then none may be left, and the kernel's memory may not have grown.
std::unique_ptr<Workload> make_ipcns_check();

}  // namespace kab::guest
