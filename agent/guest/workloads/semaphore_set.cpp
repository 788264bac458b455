#include "agent/guest/workloads/semaphore_set.h"

#include <fmt/format.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace kab::guest {

SemaphoreSet::SemaphoreSet(int id, int size) : id_(id), size_(size), owner_(::getpid()) {}

SemaphoreSet::SemaphoreSet(SemaphoreSet&& other) noexcept
    : id_(std::exchange(other.id_, -1)), size_(other.size_), owner_(other.owner_) {}

SemaphoreSet::~SemaphoreSet() {
    // A forked child has a copy of this object, but not the set.
    if (id_ >= 0 && ::getpid() == owner_) (void)::semctl(id_, 0, IPC_RMID);
}

Result<SemaphoreSet> SemaphoreSet::make(int semaphores, int value, int mode) {
    const int id = ::semget(IPC_PRIVATE, semaphores, IPC_CREAT | mode);
    if (id < 0 && (errno == ENOSPC || errno == EINVAL))
        return fail(Fault::infra, "{}; raise the limits in /proc/sys/kernel/sem",
                    fail_errno(errno, fmt::format("semget of {} semaphores", semaphores)).value().text());
    if (id < 0) return fail_errno(errno, fmt::format("semget of {} semaphores", semaphores));
    SemaphoreSet set(id, semaphores);
    const std::vector<unsigned short> values(static_cast<std::size_t>(semaphores), static_cast<unsigned short>(value));
    if (auto good = set.set_values(values); !good) return pass(good);
    return set;
}

Result<std::vector<unsigned short>> SemaphoreSet::values() const {
    std::vector<unsigned short> values(static_cast<std::size_t>(size_));
    if (::semctl(id_, 0, GETALL, values.data()) < 0) return fail_errno(errno, "semctl GETALL");
    return values;
}

Status SemaphoreSet::set_values(std::span<const unsigned short> values) {
    if (::semctl(id_, 0, SETALL, values.data()) < 0) return fail_errno(errno, "semctl SETALL");
    return {};
}

Status SemaphoreSet::remove() {
    if (::semctl(std::exchange(id_, -1), 0, IPC_RMID) < 0) return fail_errno(errno, "semctl IPC_RMID");
    return {};
}

int change_semaphore(int set, int semaphore, int by, int flags) {
    sembuf operation{static_cast<unsigned short>(semaphore), static_cast<short>(by), static_cast<short>(flags)};
    while (::semop(set, &operation, 1) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

}  // namespace kab::guest
