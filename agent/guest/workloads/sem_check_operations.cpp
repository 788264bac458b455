// What semop() and semtimedop() do.
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "agent/guest/perf/meter.h"
#include "agent/guest/workloads/sem_check_parts.h"

namespace kab::guest::sem_check {
namespace {

using Operations = std::vector<sembuf>;

int semop_all(int set, Operations operations) {
    return errno_of(::semop(set, operations.data(), operations.size()));
}

sembuf op(int semaphore, int by, int flags = 0) {
    return {static_cast<unsigned short>(semaphore), static_cast<short>(by), static_cast<short>(flags)};
}

int value(const SemaphoreSet& set, int semaphore) {
    return ::semctl(set.id(), semaphore, GETVAL);
}

Status post(const SemaphoreSet& set, int semaphore) {
    return expect_error("a post", change_semaphore(set.id(), semaphore, 1), 0);
}

/// A task that waits (-1) or waits for zero (0), once it sleeps.
Result<TaskGroup> sleeper(const SemaphoreSet& set, Operations operations, int on, int command, int number = 1) {
    auto task =
        start_task([&] { return expect_in_task("a wait, expected to succeed", semop_all(set.id(), operations), 0); });
    if (!task) return task;
    if (auto asleep = wait_for_sleepers(set.id(), on, command, number); !asleep) return pass(asleep);
    return task;
}

Status waits_and_posts() {
    auto set = SemaphoreSet::make(2, 2);
    if (!set) return pass(set);
    if (auto good = expect_error("-1 at 2", change_semaphore(set->id(), 0, -1), 0); !good) return good;
    if (auto good = expect_error("-2 at 1 with IPC_NOWAIT", change_semaphore(set->id(), 0, -2, IPC_NOWAIT), EAGAIN);
        !good)
        return good;
    if (auto good = expect_error("0 at 1 with IPC_NOWAIT", change_semaphore(set->id(), 0, 0, IPC_NOWAIT), EAGAIN);
        !good)
        return good;
    if (auto good = expect_value("value after -1 and two refusals", value(*set, 0), 1); !good) return good;
    if (auto good = expect_value("its neighbour", value(*set, 1), 2); !good) return good;
    if (auto good = expect_value("GETPID", ::semctl(set->id(), 0, GETPID), ::getpid()); !good) return good;

    auto zero = sleeper(*set, {op(0, 0)}, 0, GETZCNT);
    if (!zero) return pass(zero);
    if (auto good = expect_error("-1 at 1", change_semaphore(set->id(), 0, -1), 0); !good) return good;
    if (auto good = finish(*zero); !good) return good;
    return expect_value("GETZCNT after zero was reached", ::semctl(set->id(), 0, GETZCNT), 0);
}

/// Two waiters, one post: the first that came is served, the second sleeps on.
Status in_their_order() {
    auto set = SemaphoreSet::make(1);
    if (!set) return pass(set);
    auto first = sleeper(*set, {op(0, -1)}, 0, GETNCNT, 1);
    if (!first) return pass(first);
    auto second = sleeper(*set, {op(0, -1)}, 0, GETNCNT, 2);
    if (!second) return pass(second);
    if (auto good = post(*set, 0); !good) return good;
    if (auto good = finish(*first); !good) return good;
    if (auto good = expect_value("GETNCNT after one post for two", ::semctl(set->id(), 0, GETNCNT), 1); !good)
        return good;
    if (auto good = post(*set, 0); !good) return good;
    if (auto good = finish(*second); !good) return good;
    return expect_value("value when all were served", value(*set, 0), 0);
}

/// A signal ends a wait.
Status interrupted() {
    auto set = SemaphoreSet::make(1);
    if (!set) return pass(set);
    auto shared = Shared<std::atomic<pid_t>>::make();
    if (!shared) return pass(shared);
    auto task = start_task([&]() -> TaskResult {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        if (::sigaction(SIGUSR1, &action, nullptr) != 0) return TaskFailure{"sigaction", errno};
        shared->operator->()->store(::getpid());
        return expect_in_task("a wait under a signal, expected EINTR", semop_all(set->id(), {op(0, -1)}), EINTR);
    });
    if (!task) return pass(task);
    if (auto asleep = wait_for_sleepers(set->id(), 0, GETNCNT, 1); !asleep) return asleep;
    if (::kill(shared->operator->()->load(), SIGUSR1) != 0) return fail_errno(errno, "kill");
    if (auto good = finish(*task); !good) return good;
    return expect_value("GETNCNT after a signal", ::semctl(set->id(), 0, GETNCNT), 0);
}

}  // namespace

Status simple_operations() {
    if (auto good = waits_and_posts(); !good) return good;
    if (auto good = in_their_order(); !good) return good;
    return interrupted();
}

Status operations_together() {
    auto set = SemaphoreSet::make(2);
    if (!set) return pass(set);
    const int id = set->id();
    if (auto good = post(*set, 0); !good) return good;
    if (auto good = expect_error("-1 of both at 1, 0", semop_all(id, {op(0, -1), op(1, -1, IPC_NOWAIT)}), EAGAIN);
        !good)
        return good;
    if (auto good = expect_value("the first of two operations that were refused", value(*set, 0), 1); !good)
        return good;

    auto both = sleeper(*set, {op(0, -1), op(1, -1)}, 1, GETNCNT);
    if (!both) return pass(both);
    if (auto good = expect_value("GETNCNT of the semaphore that suffices", ::semctl(id, 0, GETNCNT), 0); !good)
        return good;
    if (auto good = expect_value("a semaphore that is waited for with another", value(*set, 0), 1); !good) return good;
    // A single operation while several sleep together.
    auto single = sleeper(*set, {op(1, -1)}, 1, GETNCNT, 2);
    if (!single) return pass(single);
    if (auto good = post(*set, 1); !good) return good;
    if (auto good = finish(*both); !good) return good;
    if (auto good = expect_value("both after they were taken", value(*set, 0) + value(*set, 1), 0); !good) return good;
    if (auto good = post(*set, 1); !good) return good;
    if (auto good = finish(*single); !good) return good;

    if (auto good =
            expect_error("+1 -1 -1 of one", semop_all(id, {op(0, 1), op(0, -1), op(0, -1, IPC_NOWAIT)}), EAGAIN);
        !good)
        return good;
    if (auto good = expect_value("value after them", value(*set, 0), 0); !good) return good;
    if (auto good = expect_error("0 and +1 of one at 0", semop_all(id, {op(0, 0), op(0, 1)}), 0); !good) return good;
    if (auto good = expect_error("the same at 1", semop_all(id, {op(0, 0, IPC_NOWAIT), op(0, 1)}), EAGAIN); !good)
        return good;
    return expect_value("value at the end", value(*set, 0), 1);
}

Status timeouts() {
    auto set = SemaphoreSet::make(2);
    if (!set) return pass(set);
    const auto timed = [&](Operations operations, const timespec& limit) {
        return errno_of(::semtimedop(set->id(), operations.data(), operations.size(), &limit));
    };
    for (const Operations& operations : {Operations{op(0, -1)}, Operations{op(0, -1), op(1, -1)}}) {
        const std::int64_t from = raw_clock_ns();
        if (auto good = expect_error("a wait of 20 ms", timed(operations, {0, 20'000'000}), EAGAIN); !good) return good;
        // The two clocks may differ by the slewing of one: a little less than 20 ms is no fault.
        if (raw_clock_ns() - from < 19'000'000) return fail(Fault::io, "a wait of 20 ms was over too early");
    }
    if (auto good = expect_error("a wait of no time", timed({op(0, -1)}, {0, 0}), EAGAIN); !good) return good;
    if (auto good = expect_error("a wait of 1 s and -1 ns", timed({op(0, -1)}, {1, -1}), EINVAL); !good) return good;
    if (auto good = expect_value("GETNCNT after timeouts", ::semctl(set->id(), 0, GETNCNT), 0); !good) return good;
    if (auto good = post(*set, 0); !good) return good;
    return expect_error("a wait of 1 s at 1", timed({op(0, -1)}, {1, 0}), 0);
}

Status undo() {
    auto set = SemaphoreSet::make(4, 5);
    if (!set) return pass(set);
    const int id = set->id();
    if (auto good = expect_error("SETVAL 1", errno_of(::semctl(id, 2, SETVAL, 1)), 0); !good) return good;
    // Semaphore 0: given, to be taken back; 1: taken; 2: taken while another waits for it; 3: set meanwhile.
    auto task = start_task([&]() -> TaskResult {
        if (auto bad =
                expect_in_task("+3 and -1 with SEM_UNDO", semop_all(id, {op(0, 3, SEM_UNDO), op(1, -1, SEM_UNDO)}), 0))
            return bad;
        if (auto bad = expect_in_task("-1 with SEM_UNDO", change_semaphore(id, 2, -1, SEM_UNDO), 0)) return bad;
        if (auto bad = expect_in_task("+2 with SEM_UNDO", change_semaphore(id, 3, 2, SEM_UNDO), 0)) return bad;
        // Until semaphore 3 is set to 0: by then somebody sleeps on semaphore 2.
        return expect_in_task("a wait for zero", change_semaphore(id, 3, 0), 0);
    });
    if (!task) return pass(task);
    if (auto asleep = wait_for_sleepers(id, 3, GETZCNT, 1); !asleep) return asleep;
    if (auto good = expect_value("value after +3", value(*set, 0), 8); !good) return good;
    // Less than what will be taken back: undo stops at 0.
    if (auto good = expect_error("-7 at 8", change_semaphore(id, 0, -7), 0); !good) return good;
    auto waiter = sleeper(*set, {op(2, -1)}, 2, GETNCNT);
    if (!waiter) return pass(waiter);
    if (auto good = expect_error("SETVAL 0", errno_of(::semctl(id, 3, SETVAL, 0)), 0); !good) return good;
    if (auto good = finish(*task); !good) return good;
    if (auto good = finish(*waiter); !good) return good;
    const std::array wanted{0, 5, 0, 0};
    for (int i = 0; i < 4; ++i)
        if (auto good =
                expect_value("a value after the undo of an exit", value(*set, i), wanted[static_cast<std::size_t>(i)]);
            !good)
            return fail(Fault::io, "semaphore {}: {}", i, good.error().text());
    return {};
}

}  // namespace kab::guest::sem_check
