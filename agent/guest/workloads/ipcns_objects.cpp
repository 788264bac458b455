#include "agent/guest/workloads/ipcns_objects.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include <cerrno>
#include <cstring>

namespace kab::guest {
namespace {

constexpr key_t key = 0x6b6162;  // "kab"
constexpr int semaphores = 8;
constexpr std::size_t shared_bytes = 8192;

/// As semctl(2) wants it.
union SemaphoreArgument {
    int value;
};

Result<int> find_semaphore() {
    const int id = ::semget(key, 1, 0);
    if (id < 0) return fail_errno(errno, "semget of the set that was made in this ipc namespace");
    return id;
}

Status fill_shared_memory(int value) {
    const int id = ::shmget(key, shared_bytes, IPC_CREAT | IPC_EXCL | 0600);
    if (id < 0) return fail_errno(errno, "shmget in a new ipc namespace");
    void* const memory = ::shmat(id, nullptr, 0);
    if (memory == reinterpret_cast<void*>(-1)) return fail_errno(errno, "shmat in a new ipc namespace");
    std::memset(memory, value, shared_bytes);  // stays attached until the process exits
    return {};
}

Status fill_message_queue(int value) {
    struct {
        long type;
        char text[100];
    } message{1, {}};
    std::memset(message.text, value, sizeof message.text);
    const int id = ::msgget(key, IPC_CREAT | IPC_EXCL | 0600);
    if (id < 0) return fail_errno(errno, "msgget in a new ipc namespace");
    if (::msgsnd(id, &message, sizeof message.text, IPC_NOWAIT) != 0)
        return fail_errno(errno, "msgsnd in a new ipc namespace");
    return {};
}

Status fill_posix_queue() {
    mq_attr attributes{};
    attributes.mq_maxmsg = 2;
    attributes.mq_msgsize = 64;
    const mqd_t queue = ::mq_open("/kab", O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK | O_CLOEXEC, 0600, &attributes);
    if (queue < 0 && errno == ENOSYS) return {};  // without CONFIG_POSIX_MQUEUE there is nothing to check
    if (queue < 0) return fail_errno(errno, "mq_open in a new ipc namespace");
    if (::mq_send(queue, "kab", 4, 0) != 0) return fail_errno(errno, "mq_send in a new ipc namespace");
    return {};  // stays open until the process exits
}

}  // namespace

Status make_semaphore(int value) {
    const int id = ::semget(key, semaphores, IPC_CREAT | IPC_EXCL | 0600);
    if (id < 0) return fail_errno(errno, "semget(IPC_CREAT | IPC_EXCL)");
    if (::semctl(id, 0, SETVAL, SemaphoreArgument{value}) != 0) return fail_errno(errno, "semctl(SETVAL)");
    return {};
}

Status expect_semaphore(int value) {
    const auto id = find_semaphore();
    if (!id) return pass(id);
    const int found = ::semctl(*id, 0, GETVAL);
    if (found < 0) return fail_errno(errno, "semctl(GETVAL)");
    if (found != value) return fail(Fault::io, "a semaphore is {}, expected {}", found, value);
    return {};
}

Status expect_no_semaphore() {
    if (::semget(key, 1, 0) >= 0)
        return fail(Fault::io, "a semaphore set of another ipc namespace can be seen, expected ENOENT");
    if (errno != ENOENT) return fail_errno(errno, "semget where there is none, expected ENOENT,");
    return {};
}

Status remove_semaphore() {
    const auto id = find_semaphore();
    if (!id) return pass(id);
    if (::semctl(*id, 0, IPC_RMID) != 0) return fail_errno(errno, "semctl(IPC_RMID)");
    return {};
}

Status fill_namespace(int value) {
    if (auto made = make_semaphore(value); !made) return made;
    const auto id = find_semaphore();
    if (!id) return pass(id);
    sembuf up{1, 1, SEM_UNDO};
    if (::semop(*id, &up, 1) != 0) return fail_errno(errno, "semop(SEM_UNDO)");
    if (auto filled = fill_shared_memory(value); !filled) return filled;
    if (auto filled = fill_message_queue(value); !filled) return filled;
    if (auto filled = fill_posix_queue(); !filled) return filled;
    return expect_semaphore(value);
}

}  // namespace kab::guest
