#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "semop-multi" (the benchmark of the 2013 discussion of the ipc lock): `threads` threads of one process, pinned
/// to the first `cpus` CPUs in turn, and one set of `semaphores`. Thread t uses semaphore t modulo their number.
/// After one go each takes it (-1) and gives it back (+1), a semop() of one operation each, over and over, until
/// `duration` ms have passed or it has had its part of `operations`.
///
/// Each semaphore starts with `initial`. With 0 that is the number of its threads: then no -1 ever has to wait,
/// and all that is measured is the way in and out of semop() and the locks on it. With 1 the threads of a
/// semaphore exclude and wake each other. There is no deadlock with any value: a thread that waits holds nothing.
///
/// Metrics: `operations`, all semop() calls; `rate`, those a second from the go until the last thread has stopped.
/// A run in which a semaphore does not end as it began fails: an operation was lost or done twice.
std::unique_ptr<Workload> make_semop_multi();

}  // namespace kab::guest
