// What semctl() does, and what is refused.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>

#include "agent/guest/text.h"
#include "agent/guest/workloads/sem_check_parts.h"

namespace kab::guest::sem_check {
namespace {

constexpr int value_limit = 32767;
constexpr unsigned nobody = 65534;

/// More than the kernel copies by way of its stack (256), and less.
Status all_values(int semaphores) {
    auto set = SemaphoreSet::make(semaphores);
    if (!set) return pass(set);
    std::vector<unsigned short> wanted(static_cast<std::size_t>(semaphores));
    std::iota(wanted.begin(), wanted.end(), static_cast<unsigned short>(1));
    if (auto good = set->set_values(wanted); !good) return good;
    const auto got = set->values();
    if (!got) return pass(got);
    if (*got != wanted) return fail(Fault::io, "GETALL gives other values than SETALL set ({} semaphores)", semaphores);
    return expect_value("GETVAL of the last", ::semctl(set->id(), semaphores - 1, GETVAL), semaphores);
}

/// The state of a set, and that IPC_SET changes it.
Status status_of_a_set() {
    auto set = SemaphoreSet::make(3, 1);
    if (!set) return pass(set);
    const int id = set->id();
    semid_ds state{};
    if (auto good = expect_error("IPC_STAT", errno_of(::semctl(id, 0, IPC_STAT, &state)), 0); !good) return good;
    if (auto good = expect_value("sem_nsems", static_cast<int>(state.sem_nsems), 3); !good) return good;
    if (auto good = expect_value("mode", state.sem_perm.mode & 0777, 0600); !good) return good;
    if (auto good = expect_value("sem_otime of a new set", static_cast<int>(state.sem_otime), 0); !good) return good;
    if (auto good = expect_error("+1", change_semaphore(id, 1, 1), 0); !good) return good;
    state.sem_perm.mode = 0640;
    if (auto good = expect_error("IPC_SET", errno_of(::semctl(id, 0, IPC_SET, &state)), 0); !good) return good;
    // The index of a set is the lower part of its id.
    const int found = ::semctl(id & 0x7fff, 0, SEM_STAT, &state);
    if (auto good = expect_value("SEM_STAT of its index", found, id); !good) return good;
    if (auto good = expect_value("mode after IPC_SET", state.sem_perm.mode & 0777, 0640); !good) return good;
    if (state.sem_otime == 0) return fail(Fault::io, "sem_otime is still 0 after a semop()");
    const auto table = read_text("/proc/sysvipc/sem");
    if (!table) return fail_errno(errno, "read /proc/sysvipc/sem");
    if (table->find(fmt::format(" {} ", id)) == std::string::npos)
        return fail(Fault::io, "/proc/sysvipc/sem does not list set {}", id);
    return {};
}

/// SETVAL and SETALL wake who waits for what they set.
Status setting_wakes() {
    auto set = SemaphoreSet::make(2);
    if (!set) return pass(set);
    const int id = set->id();
    for (const bool all : {false, true}) {
        auto task =
            start_task([&] { return expect_in_task("a wait, expected to succeed", change_semaphore(id, 1, -2), 0); });
        if (!task) return pass(task);
        if (auto asleep = wait_for_sleepers(id, 1, GETNCNT, 1); !asleep) return asleep;
        const unsigned short values[] = {0, 3};
        const int done = all ? ::semctl(id, 0, SETALL, values) : ::semctl(id, 1, SETVAL, 3);
        if (auto good = expect_error(all ? "SETALL" : "SETVAL", errno_of(done), 0); !good) return good;
        if (auto good = finish(*task); !good) return good;
        if (auto good = expect_value("value after a wait of 2 at 3", ::semctl(id, 1, GETVAL), 1); !good) return good;
    }
    return {};
}

/// What a user who is neither owner nor in its group meets at a set of this mode. In a task.
TaskResult as_another_user(int set, bool may_read, bool may_write) {
    if (::setgroups(0, nullptr) != 0) return TaskFailure{"setgroups", errno};
    if (::setresgid(nobody, nobody, nobody) != 0) return TaskFailure{"setresgid", errno};
    if (::setresuid(nobody, nobody, nobody) != 0) return TaskFailure{"setresuid", errno};
    const int reading = may_read ? 0 : EACCES, writing = may_write ? 0 : EACCES;
    unsigned short values[] = {1, 1};
    semid_ds state{};
    sembuf two[] = {{0, 1, 0}, {1, 1, 0}};
    const struct {
        const char* what;
        int got, wanted;
    } calls[] = {
        {"semop +1 by another user", change_semaphore(set, 0, 1), writing},
        {"semop +1 with SEM_UNDO by another user", change_semaphore(set, 0, 1, SEM_UNDO), writing},
        {"semop of two by another user", errno_of(::semop(set, two, 2)), writing},
        {"semctl SETVAL by another user", errno_of(::semctl(set, 0, SETVAL, 1)), writing},
        {"semctl SETALL by another user", errno_of(::semctl(set, 0, SETALL, values)), writing},
        {"semop 0 by another user", change_semaphore(set, 0, 0, IPC_NOWAIT), may_read ? EAGAIN : EACCES},
        {"semctl GETVAL by another user", errno_of(::semctl(set, 0, GETVAL)), reading},
        {"semctl GETALL by another user", errno_of(::semctl(set, 0, GETALL, values)), reading},
        {"semctl GETNCNT by another user", errno_of(::semctl(set, 0, GETNCNT)), reading},
        {"semctl IPC_STAT by another user", errno_of(::semctl(set, 0, IPC_STAT, &state)), reading},
        {"semctl IPC_SET by another user", errno_of(::semctl(set, 0, IPC_SET, &state)), EPERM},
        {"semctl IPC_RMID by another user", errno_of(::semctl(set, 0, IPC_RMID)), EPERM},
    };
    for (const auto& call : calls)
        if (auto bad = expect_in_task(call.what, call.got, call.wanted)) return bad;
    return {};
}

}  // namespace

Status control() {
    for (const int semaphores : {1, 256, 257, 300})
        if (auto good = all_values(semaphores); !good) return good;
    if (auto good = status_of_a_set(); !good) return good;
    return setting_wakes();
}

Status bad_arguments() {
    auto set = SemaphoreSet::make(2, 1);
    if (!set) return pass(set);
    auto gone = SemaphoreSet::make(1);
    if (!gone) return pass(gone);
    const int id = set->id(), removed = gone->id();
    if (auto good = gone->remove(); !good) return good;
    seminfo limits{};
    if (::semctl(0, 0, IPC_INFO, &limits) < 0) return fail_errno(errno, "semctl IPC_INFO");
    std::vector<sembuf> many(static_cast<std::size_t>(limits.semopm) + 1);
    unsigned short values[] = {1, 40000};
    sembuf one{0, 1, 0}, none_of_it[] = {{0, 1, 0}, {2, 1, 0}}, over[] = {{0, 1, 0}, {1, value_limit, 0}};
    const struct {
        const char* what;
        int got, wanted;
    } calls[] = {
        {"semop of set -1", errno_of(::semop(-1, &one, 1)), EINVAL},
        {"semop of a removed set", errno_of(::semop(removed, &one, 1)), EINVAL},
        {"semop of a removed set with SEM_UNDO", change_semaphore(removed, 0, 1, SEM_UNDO), EINVAL},
        {"semop of no operation", errno_of(::semop(id, &one, 0)), EINVAL},
        {"semop of more operations than allowed", errno_of(::semop(id, many.data(), many.size())), E2BIG},
        {"semop of a semaphore there is not", change_semaphore(id, 2, 1), EFBIG},
        {"semop of one that is and one that is not", errno_of(::semop(id, none_of_it, 2)), EFBIG},
        {"semop beyond the largest value", change_semaphore(id, 0, value_limit), ERANGE},
        {"semop of two, one beyond the largest value", errno_of(::semop(id, over, 2)), ERANGE},
        {"semop of an address there is not",
         static_cast<int>(errno_of(static_cast<int>(::syscall(SYS_semop, id, 8, 1)))), EFAULT},
        {"semctl GETVAL of semaphore 2 of 2", errno_of(::semctl(id, 2, GETVAL)), EINVAL},
        {"semctl GETVAL of semaphore -1", errno_of(::semctl(id, -1, GETVAL)), EINVAL},
        {"semctl SETVAL of semaphore 2 of 2", errno_of(::semctl(id, 2, SETVAL, 1)), EINVAL},
        {"semctl SETVAL of too much", errno_of(::semctl(id, 0, SETVAL, value_limit + 1)), ERANGE},
        {"semctl SETVAL of -1", errno_of(::semctl(id, 0, SETVAL, -1)), ERANGE},
        {"semctl SETALL with too much", errno_of(::semctl(id, 0, SETALL, values)), ERANGE},
        {"semctl SETALL of an address there is not", errno_of(::semctl(id, 0, SETALL, 8L)), EFAULT},
        {"semctl GETALL of an address there is not", errno_of(::semctl(id, 0, GETALL, 8L)), EFAULT},
        {"semctl of a command there is not", errno_of(::semctl(id, 0, 9999)), EINVAL},
        {"semctl IPC_RMID of a removed set", errno_of(::semctl(removed, 0, IPC_RMID)), EINVAL},
        {"semctl IPC_STAT of a removed set", errno_of(::semctl(removed, 0, IPC_STAT, nullptr)), EINVAL},
    };
    for (const auto& call : calls)
        if (auto good = expect_error(call.what, call.got, call.wanted); !good) return good;
    const auto after = set->values();
    if (!after) return pass(after);
    if (*after != std::vector<unsigned short>{1, 1}) return fail(Fault::io, "a refused call has changed a semaphore");
    return {};
}

Status refusals() {
    if (::geteuid() != 0) return fail(Fault::io, "needs root, to become another user");
    const struct {
        int mode;
        bool read, write;
    } modes[] = {{0600, false, false}, {0604, true, false}, {0606, true, true}, {0066, true, true}};
    for (const auto& mode : modes) {
        auto set = SemaphoreSet::make(2, 1, mode.mode);
        if (!set) return pass(set);
        auto task = start_task([&] { return as_another_user(set->id(), mode.read, mode.write); });
        if (!task) return pass(task);
        if (auto good = finish(*task); !good) return fail(Fault::io, "mode {:o}: {}", mode.mode, good.error().text());
        if (auto good = set->remove(); !good) return good;
    }
    return {};
}

}  // namespace kab::guest::sem_check
