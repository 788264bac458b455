#pragma once
// The parts of "sem-check". Each makes sets of its own and leaves none; its error says what was expected.
#include <cstdint>

#include "agent/guest/workloads/semaphore_set.h"
#include "agent/guest/workloads/task_group.h"

namespace kab::guest::sem_check {

/// Post, wait, wait for zero; IPC_NOWAIT; who was last; EINTR; waiters are served in their order.
Status simple_operations();
/// Several operations in one call are done all at once or not at all, and sleep on the first that cannot be done.
Status operations_together();
/// semtimedop(): a wait ends when its time is over, and not before.
Status timeouts();
/// SEM_UNDO at exit: given back, waking who waits for it; forgotten after SETVAL; never below 0.
Status undo();
/// EINVAL, EFBIG, E2BIG, ERANGE, EFAULT.
Status bad_arguments();
/// SETALL, GETALL, SETVAL, GETVAL, IPC_STAT, IPC_SET, SEM_STAT and /proc/sysvipc/sem; small and large sets.
Status control();
/// EACCES and EPERM for another user, by the mode of the set. Needs root.
Status refusals();
/// EACCES by the security module for another label, where that is Smack. Where it is not, nothing is tried, which is an
/// error only if the kernel was told to have it (lsm= or security= of its command line). Needs root.
Status refusals_by_label();
/// A set is removed under tasks that sleep on it and tasks that change it: all see EIDRM, or EINVAL if they come late.
Status removal(std::uint32_t tasks, std::int64_t removals);
/// Tasks change one set by single and by several operations at once: nothing is lost and nothing is made.
Status conservation(std::uint32_t tasks, std::int64_t loops);

// ---- shared by them ----

/// errno of a call's result; 0 when it succeeded.
int errno_of(int result);
/// `got` and `wanted` are errno values, 0 for success.
Status expect_error(const char* what, int got, int wanted);
Status expect_value(const char* what, int got, int wanted);
/// For use in a task: nothing, or the failure.
TaskResult expect_in_task(const char* what, int got, int wanted);

/// A task that is on its way, which usually sleeps in semop().
Result<TaskGroup> start_task(const std::function<TaskResult()>& work);
/// Until it is done and reaped.
Status finish(TaskGroup& task);
/// Until `number` tasks sleep on the semaphore for GETNCNT or GETZCNT (`command`).
Status wait_for_sleepers(int set, int semaphore, int command, int number);

}  // namespace kab::guest::sem_check
