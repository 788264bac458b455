#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "sem-check": a self-check of System V semaphores, for kernels whose ipc/sem.c was changed. What is tried is in
/// sem_check_parts.h. The first thing that is not as semop(2) and semctl(2) have it is the error of the run. Needs
/// root, as it also tries what another user may not do. No metrics.
std::unique_ptr<Workload> make_sem_check();

}  // namespace kab::guest
