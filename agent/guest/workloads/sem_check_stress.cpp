// Many tasks on one set: while it is removed, and while all change it.
#include <fmt/format.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <numeric>

#include "agent/guest/text.h"
#include "agent/guest/workloads/sem_check_parts.h"

namespace kab::guest::sem_check {
namespace {

// ---- removal ----

constexpr int kinds_of_sleep = 5;

/// Sleeps on a set of zeros, except semaphore 2, in one way after another. errno.
int sleep_on(int set, std::uint32_t kind) {
    sembuf two[] = {{0, -1, 0}, {1, -1, 0}};
    const timespec long_time{3600, 0};
    switch (kind % kinds_of_sleep) {
        case 0: return change_semaphore(set, 0, -1);
        case 1: return errno_of(::semop(set, two, 2));
        case 2: return change_semaphore(set, 2, 0);
        case 3: return change_semaphore(set, 0, -1, SEM_UNDO);
        default: return errno_of(::semtimedop(set, two, 2, &long_time));
    }
}

/// Who sleeps on a semaphore of the set; none when it is gone.
int sleepers(int set) {
    const int on_first = ::semctl(set, 0, GETNCNT), on_zero = ::semctl(set, 2, GETZCNT);
    return on_first < 0 || on_zero < 0 ? 0 : on_first + on_zero;
}

/// All sleep when the set goes: every one of them is told EIDRM.
Status remove_under_sleepers(std::uint32_t tasks) {
    auto set = SemaphoreSet::make(3);
    if (!set) return pass(set);
    if (auto good = expect_error("+1", change_semaphore(set->id(), 2, 1), 0); !good) return good;
    auto group = TaskGroup::make(tasks, false);
    if (!group) return pass(group);
    const int id = set->id();
    const TaskBody body{[](std::uint32_t) { return TaskResult{}; },
                        [&](std::uint32_t number) {
                            return expect_in_task("a sleep on a set that is removed, expected EIDRM",
                                                  sleep_on(id, number), EIDRM);
                        }};
    if (auto started = group->start(body); !started) return started;
    if (auto gone = group->go(); !gone) return gone;
    for (int tries = 0; sleepers(id) < static_cast<int>(tasks); ++tries) {
        if (tries > 60'000) return fail(Fault::timeout, "{} of {} tasks sleep after a minute", sleepers(id), tasks);
        const timespec pause{0, 1'000'000};
        (void)::nanosleep(&pause, nullptr);
    }
    if (auto removed = set->remove(); !removed) return removed;
    if (auto done = group->wait_until_done(); !done) return done;
    return group->verdict();
}

/// The set goes while some change it and others are about to sleep on it.
Status remove_under_work(std::uint32_t tasks) {
    auto set = SemaphoreSet::make(3);
    if (!set) return pass(set);
    auto group = TaskGroup::make(tasks, false);
    if (!group) return pass(group);
    auto underway = Shared<std::atomic<std::uint32_t>>::make();
    if (!underway) return pass(underway);
    const int id = set->id();
    const auto work = [&](std::uint32_t number) -> TaskResult {
        (*underway)->fetch_add(1);
        int error = 0;
        // Even tasks never sleep; odd ones mostly do. All go on until the set is gone.
        const int flags = SEM_UNDO | (number % 2 == 0 ? IPC_NOWAIT : 0);
        while (error == 0 || error == EAGAIN) {
            sembuf two[] = {{0, 1, SEM_UNDO}, {1, 1, SEM_UNDO}}, back[] = {{0, -1, SEM_UNDO}, {1, -1, SEM_UNDO}};
            error = errno_of(::semop(id, two, 2));
            if (error == 0) error = change_semaphore(id, 0, -1, flags);
            if (error == 0) error = change_semaphore(id, 0, 1, SEM_UNDO);
            if (error == 0) error = errno_of(::semop(id, back, 2));
        }
        if (error == EIDRM || error == EINVAL) return {};
        return TaskFailure{"semop on a set that is removed, expected EIDRM or EINVAL", error};
    };
    const TaskBody body{[](std::uint32_t) { return TaskResult{}; }, work};
    if (auto started = group->start(body); !started) return started;
    if (auto gone = group->go(); !gone) return gone;
    while ((*underway)->load() == 0) {
        const timespec pause{0, 100'000};
        (void)::nanosleep(&pause, nullptr);
    }
    if (auto removed = set->remove(); !removed) return removed;
    if (auto done = group->wait_until_done(); !done) return done;
    return group->verdict();
}

// ---- conservation ----

constexpr int semaphores = 8;
constexpr int each = 3;  ///< few, so that operations often have to wait
constexpr int total = semaphores * each;

/// A fixed sequence of its own for each task.
class Sequence {
  public:
    explicit Sequence(std::uint32_t task) : state_(0x9e3779b97f4a7c15U * (task + 1)) {}
    int below(int bound) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<int>((state_ >> 33U) % static_cast<std::uint64_t>(bound));
    }

  private:
    std::uint64_t state_;
};

/// EAGAIN is as good as success: what could not be done was not done.
bool in_order(int error) {
    return error == 0 || error == EAGAIN;
}

/// Moves one from a semaphore to another in one call; may wait for a moment.
int move_together(int set, int from, int to) {
    sembuf both[] = {{static_cast<unsigned short>(from), -1, 0}, {static_cast<unsigned short>(to), 1, 0}};
    const timespec moment{0, 2'000'000};
    return errno_of(::semtimedop(set, both, 2, &moment));
}

/// The same in two calls: between them the task holds one.
int move_singly(int set, int from, int to) {
    sembuf take{static_cast<unsigned short>(from), -1, 0};
    const timespec moment{0, 2'000'000};
    const int error = errno_of(::semtimedop(set, &take, 1, &moment));
    return error == 0 ? change_semaphore(set, to, 1) : error;
}

/// Takes and gives back, both undone by exit if need be.
int hold(int set, int which) {
    const int error = change_semaphore(set, which, -1, SEM_UNDO | IPC_NOWAIT);
    return error == 0 ? change_semaphore(set, which, 1, SEM_UNDO) : error;
}

/// The set as a whole, at one moment: no more than there is, and less only by what tasks hold. -1: so it is not.
int look(int set, std::uint32_t tasks) {
    std::array<unsigned short, semaphores> values{};
    if (::semctl(set, 0, GETALL, values.data()) < 0) return errno;
    const int sum = std::accumulate(values.begin(), values.end(), 0);
    return sum <= total && sum >= total - static_cast<int>(tasks) ? 0 : -1;
}

TaskResult change_at_random(int set, std::uint32_t number, std::uint32_t tasks, std::int64_t loops) {
    Sequence random(number);
    for (std::int64_t i = 0; i < loops; ++i) {
        const int from = random.below(semaphores), to = (from + 1 + random.below(semaphores - 1)) % semaphores;
        const int kind = random.below(16);
        // Mostly single operations: several at once take a lock of their own that needs time to be left again.
        int error = 0;
        if (kind < 2)
            error = move_together(set, from, to);
        else if (kind < 9)
            error = move_singly(set, from, to);
        else if (kind < 14)
            error = hold(set, from);
        else if (kind == 14)
            error = look(set, tasks);
        else if (number == 0 && !read_text("/proc/sysvipc/sem"))
            return TaskFailure{"read /proc/sysvipc/sem", errno};
        if (error < 0) return TaskFailure{"the sum of all semaphores is not what it was, as GETALL has it", EPROTO};
        if (!in_order(error)) return TaskFailure{"a change among many", error};
    }
    // Each leaves holding one, or none if there is none just then; its exit gives it back.
    const int error = change_semaphore(set, static_cast<int>(number) % semaphores, -1, SEM_UNDO | IPC_NOWAIT);
    return in_order(error) ? TaskResult{} : TaskFailure{"a last -1 with SEM_UNDO", error};
}

}  // namespace

Status removal(std::uint32_t tasks, std::int64_t removals) {
    for (std::int64_t i = 0; i < removals; ++i) {
        const auto good = i % 2 == 0 ? remove_under_sleepers(tasks) : remove_under_work(tasks);
        if (!good) return fail(Fault::io, "removal {} of {}: {}", i + 1, removals, good.error().text());
    }
    return {};
}

Status conservation(std::uint32_t tasks, std::int64_t loops) {
    auto set = SemaphoreSet::make(semaphores, each);
    if (!set) return pass(set);
    auto group = TaskGroup::make(tasks, false);
    if (!group) return pass(group);
    const int id = set->id();
    const TaskBody body{[](std::uint32_t) { return TaskResult{}; },
                        [&](std::uint32_t number) { return change_at_random(id, number, tasks, loops); }};
    if (auto started = group->start(body); !started) return started;
    if (auto gone = group->go(); !gone) return gone;
    if (auto done = group->wait_until_done(); !done) return done;
    if (auto good = group->verdict(); !good) return good;
    const auto values = set->values();
    if (!values) return pass(values);
    if (auto good = expect_value("the sum of all semaphores at the end",
                                 std::accumulate(values->begin(), values->end(), 0), total);
        !good)
        return good;
    for (int i = 0; i < semaphores; ++i)
        if (auto good = expect_value("GETNCNT at the end", ::semctl(id, i, GETNCNT), 0); !good) return good;
    return set->remove();
}

}  // namespace kab::guest::sem_check
