#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "postwait" (the pattern of the database in the 2013 discussion of the ipc lock): `users` processes in a
/// ring share one set of as many semaphores, all 0 at first. Each, `loops` times, reads `scan` KiB of its own
/// memory, posts to the next one's semaphore (+1) and waits on its own (-1). As each posts before it waits,
/// the ring cannot stand still, and nobody gets more than `users` rounds ahead, so no semaphore overflows.
/// All users sleep in a futex until the go.
///
/// Metrics: `elapsed`, from the go until the last user has done its last wait; `rate`, posts and waits a
/// second. A run in which a semaphore is not 0 at the end fails: an operation was lost or done twice.
std::unique_ptr<Workload> make_postwait();

}  // namespace kab::guest
