#pragma once
// Processes that get ready, wait for one go, work, and are timed until the last of them is done.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/guest/futex.h"
#include "agent/guest/shared_memory.h"
#include "common/result.h"

namespace kab::guest {

/// The call that failed in a task, as text that lives as long as the program, and its errno; 0 when what should
/// have failed did not.
struct TaskFailure {
    const char* call;
    int error;
};
using TaskResult = std::optional<TaskFailure>;  ///< nothing: all went well

/// What the tasks and their parent share. The words that are written while the clock runs are a cache
/// line apart from the cell on which all spin.
struct TaskBoard {
    alignas(64) FutexWord go{0};
    alignas(64) FutexWord ready{0};
    alignas(64) FutexWord done{0};
    alignas(64) std::atomic<std::uint32_t> failures{0};
    FutexWord told{0};              ///< the two below are written, by the task that failed first
    std::uint32_t failed_task = 0;  ///< from 1
    TaskFailure failure{"", 0};
};

/// What each task does, on either side of the go. Called in a forked process; nothing in it may throw.
struct TaskBody {
    std::function<TaskResult(std::uint32_t number)> get_ready;  ///< `number` from 0
    std::function<TaskResult(std::uint32_t number)> work;       ///< not called after a failure
};

/// Owns forked tasks: those that are left at the end of its life are killed and reaped.
class TaskGroup {
  public:
    /// Tasks wait for the go by spinning, which needs a CPU for each, or asleep in a futex.
    static Result<TaskGroup> make(std::uint32_t tasks, bool spin);
    TaskGroup(TaskGroup&&) = default;
    TaskGroup& operator=(TaskGroup&&) = delete;
    ~TaskGroup();

    /// Forks all and waits until each is ready, or has failed to be.
    Status start(const TaskBody& body);
    Status go();
    /// Until each has done its work. When one has failed and others get no further for a second, its failure:
    /// they may wait for it in vain.
    Status wait_until_done();
    /// By number.
    const std::vector<pid_t>& pids() const { return pids_; }
    /// Reaps all. The first failure, as the task told it or by how it ended.
    Status verdict();

  private:
    TaskGroup(std::uint32_t tasks, bool spin, Shared<TaskBoard> board);
    [[noreturn]] void run(std::uint32_t number, const TaskBody& body);
    TaskResult wait_for_go();
    void note(std::uint32_t number, const TaskFailure& failure);
    Status wait_for_all(FutexWord& word) const;
    Status none_ended_badly() const;
    Status told_failure() const;

    std::uint32_t tasks_;
    bool spin_;
    Shared<TaskBoard> board_;
    std::vector<pid_t> pids_;
};

/// The CPUs this process may run on; at least one.
Result<std::vector<int>> usable_cpus();
/// The calling thread stays on `cpu` from now on. errno, or 0.
int pin_to(int cpu);

}  // namespace kab::guest
