#include "agent/guest/workloads/task_group.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "agent/guest/console.h"

namespace kab::guest {
namespace {

/// How often the parent looks whether a task was killed, which would never tell that it is done.
constexpr Nanoseconds look_after = std::chrono::seconds(1);

void count_up(FutexWord& word, std::uint32_t all) {
    // Only the last one wakes: it alone is waited for.
    if (word.fetch_add(1, std::memory_order_acq_rel) + 1 == all) (void)futex_wake_all(word);
}

/// Tells the CPU that this is a busy wait.
void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

Result<TaskGroup> TaskGroup::make(std::uint32_t tasks, bool spin) {
    auto board = Shared<TaskBoard>::make();
    if (!board) return pass(board);
    return TaskGroup(tasks, spin, std::move(*board));
}

TaskGroup::TaskGroup(std::uint32_t tasks, bool spin, Shared<TaskBoard> board)
    : tasks_(tasks), spin_(spin), board_(std::move(board)) {
    pids_.reserve(tasks);
}

TaskGroup::~TaskGroup() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_)
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
}

TaskResult TaskGroup::wait_for_go() {
    while (board_->go.load(std::memory_order_acquire) == 0) {
        if (spin_) {
            relax();
            continue;
        }
        if (const int error = futex_wait(board_->go, 0); error != 0) return TaskFailure{"futex wait for the go", error};
    }
    return {};
}

void TaskGroup::note(std::uint32_t number, const TaskFailure& failure) {
    if (board_->failures.fetch_add(1) > 0) return;
    board_->failed_task = number + 1;
    board_->failure = failure;
    board_->told.store(1, std::memory_order_release);
}

/// Whatever happens, a task counts itself ready and done: the parent waits for all.
void TaskGroup::run(std::uint32_t number, const TaskBody& body) {
    TaskResult failed = body.get_ready(number);
    count_up(board_->ready, tasks_);
    if (!failed) failed = wait_for_go();
    if (!failed) failed = body.work(number);
    if (failed) note(number, *failed);
    count_up(board_->done, tasks_);
    ::_exit(failed ? 1 : 0);
}

Status TaskGroup::start(const TaskBody& body) {
    for (std::uint32_t i = 0; i < tasks_; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0) run(i, body);
        if (pid < 0) return fail_errno(errno, fmt::format("fork of task {} of {}", i + 1, tasks_));
        pids_.push_back(pid);
    }
    return wait_for_all(board_->ready);
}

Status TaskGroup::go() {
    board_->go.store(1, std::memory_order_release);
    if (spin_) return {};
    if (const int error = futex_wake_all(board_->go); error != 0) return fail_errno(error, "futex wake");
    return {};
}

Status TaskGroup::wait_until_done() {
    return wait_for_all(board_->done);
}

Status TaskGroup::wait_for_all(FutexWord& word) const {
    for (auto seen = word.load(std::memory_order_acquire); seen < tasks_; seen = word.load(std::memory_order_acquire)) {
        if (const int error = futex_wait(word, seen, look_after); error != 0) return fail_errno(error, "futex wait");
        if (word.load(std::memory_order_acquire) != seen) continue;
        if (auto alive = none_ended_badly(); !alive) return alive;
    }
    return {};
}

/// A task that was killed will not be done; neither will those that wait for one that failed.
Status TaskGroup::none_ended_badly() const {
    // One by one: P_ALL shows the same ended task each time.
    for (std::size_t i = 0; i < pids_.size(); ++i) {
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(pids_[i]), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            return fail_errno(errno, fmt::format("waitid for task {}", i + 1));
        if (info.si_pid != 0 && (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED))
            return fail(Fault::io, "task {} of {} was killed by signal {}", i + 1, tasks_, info.si_status);
    }
    return told_failure();
}

Status TaskGroup::told_failure() const {
    if (board_->told.load(std::memory_order_acquire) == 0) return {};
    const auto what = fmt::format("{} in task {}", board_->failure.call, board_->failed_task);
    const int error = board_->failure.error;
    return fail(Fault::io, "{} ({} of {} tasks failed)",
                error == 0 ? what + ": it succeeded" : fail_errno(error, what).value().text(), board_->failures.load(),
                tasks_);
}

Status TaskGroup::verdict() {
    Status result;
    for (std::size_t i = 0; i < pids_.size(); ++i) {
        int status = 0;
        pid_t reaped = 0;
        do {
            reaped = ::waitpid(pids_[i], &status, 0);
        } while (reaped < 0 && errno == EINTR);
        if (reaped < 0 && result) result = fail_errno(errno, fmt::format("wait for task {}", i + 1));
        if (reaped >= 0 && WIFSIGNALED(status) && result)
            result = fail(Fault::io, "task {} of {} {}", i + 1, tasks_, describe_exit(status));
    }
    pids_.clear();
    if (auto told = told_failure(); !told) return told;
    return result;
}

Result<std::vector<int>> usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return fail_errno(errno, "sched_getaffinity");
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

int pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return ::sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

}  // namespace kab::guest
