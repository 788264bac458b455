#pragma once
// Sets of semaphores that a test may find left behind.
#include <sys/ipc.h>
#include <sys/sem.h>

namespace kab::guest {

/// Sets that there are in this IPC namespace.
inline int semaphore_sets() {
    seminfo info{};
    return ::semctl(0, 0, SEM_INFO, &info) < 0 ? -1 : info.semusz;
}

}  // namespace kab::guest
