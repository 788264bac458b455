#include "agent/guest/workloads/proc_read.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "agent/guest/console.h"
#include "agent/guest/futex.h"
#include "agent/guest/shared_memory.h"

namespace kab::guest {
namespace {

constexpr const char* file = "/proc/cpuinfo";
constexpr std::size_t page = 4096;
/// How often the parent looks whether a task was killed, which would never tell that it is done.
constexpr Nanoseconds look_after = std::chrono::seconds(1);

enum class Step : int { pin, memory, wait, open, read, close };

const char* describe(Step step) {
    switch (step) {
        case Step::pin: return "sched_setaffinity";
        case Step::memory: return "mmap of its memory";
        case Step::wait: return "futex wait for the go";
        case Step::open: return "open /proc/cpuinfo";
        case Step::read: return "read /proc/cpuinfo";
        case Step::close: return "close /proc/cpuinfo";
    }
    return "?";
}

/// What the tasks and their parent share. The words that are written while the clock runs are a cache
/// line apart from the cell on which all spin.
struct Board {
    alignas(64) FutexWord go{0};
    alignas(64) FutexWord ready{0};
    alignas(64) FutexWord done{0};
    alignas(64) std::atomic<std::uint32_t> failures{0};
    std::int64_t failed_task = 0;  ///< from 1; written by the task that failed first
    Step failed_step = Step::pin;
    int error = 0;
};

struct Plan {
    std::uint32_t tasks = 0;
    std::int64_t loops = 0;
    std::size_t chunk = 0, memory = 0;  ///< bytes
    bool spin = false;
};

void note(Board& board, std::int64_t task, Step step, int error) {
    if (board.failures.fetch_add(1) > 0) return;
    board.failed_task = task;
    board.failed_step = step;
    board.error = error;
}

void count_up(FutexWord& word, std::uint32_t all) {
    // Only the last one wakes: it alone is waited for.
    if (word.fetch_add(1, std::memory_order_acq_rel) + 1 == all) (void)futex_wake_all(word);
}

bool pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

/// Memory of the task's own, every page of it touched; it goes with the process.
char* take_memory(std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* first = static_cast<char*>(memory);
    for (std::size_t at = 0; at < bytes; at += page) first[at] = 1;
    return first;
}

/// Tells the CPU that this is a busy wait.
void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

std::optional<std::pair<Step, int>> wait_for_go(Board& board, bool spin) {
    while (board.go.load(std::memory_order_acquire) == 0) {
        if (spin) {
            relax();
            continue;
        }
        if (const int error = futex_wait(board.go, 0); error != 0) return std::pair{Step::wait, error};
    }
    return {};
}

std::optional<std::pair<Step, int>> read_in_a_loop(const Plan& plan, char* buffer) {
    for (std::int64_t i = 0; i < plan.loops; ++i) {
        const int fd = ::open(file, O_RDONLY | O_CLOEXEC);
        if (fd < 0) return std::pair{Step::open, errno};
        const ssize_t got = ::read(fd, buffer, plan.chunk);
        if (got <= 0) return std::pair{Step::read, got == 0 ? ENODATA : errno};
        if (::close(fd) != 0) return std::pair{Step::close, errno};
    }
    return {};
}

/// Whatever happens, a task counts itself ready and done: the parent waits for all.
[[noreturn]] void task_main(std::int64_t number, int cpu, const Plan& plan, Board& board) {
    std::optional<std::pair<Step, int>> failed;
    char* buffer = nullptr;
    if (!pin(cpu)) failed = std::pair{Step::pin, errno};
    if (!failed && (buffer = take_memory(plan.memory)) == nullptr) failed = std::pair{Step::memory, errno};
    count_up(board.ready, plan.tasks);
    if (!failed) failed = wait_for_go(board, plan.spin);
    if (!failed) failed = read_in_a_loop(plan, buffer);
    if (failed) note(board, number, failed->first, failed->second);
    count_up(board.done, plan.tasks);
    ::_exit(failed ? 1 : 0);
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

/// The forked tasks; ended and reaped with it, whatever happened.
class Tasks {
  public:
    explicit Tasks(Board& board) : board_(board) {}
    Tasks(const Tasks&) = delete;
    ~Tasks() { end(); }

    Status fork_all(const Plan& plan, const std::vector<int>& cpus) {
        pids_.reserve(plan.tasks);
        for (std::uint32_t i = 0; i < plan.tasks; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0) task_main(i + 1, cpus[i % cpus.size()], plan, board_);
            if (pid < 0) return fail_errno(errno, fmt::format("fork of task {} of {}", i + 1, plan.tasks));
            pids_.push_back(pid);
        }
        return {};
    }

    /// Until all tasks have counted up `word`.
    Status wait_for_all(FutexWord& word) const {
        for (auto seen = word.load(std::memory_order_acquire); seen < pids_.size();
             seen = word.load(std::memory_order_acquire)) {
            if (const int error = futex_wait(word, seen, look_after); error != 0)
                return fail_errno(error, "futex wait");
            if (word.load(std::memory_order_acquire) != seen) continue;
            if (auto alive = none_killed(); !alive) return alive;
        }
        return {};
    }

    /// Reaps all. The first failure, by what the tasks told or how they ended.
    Status verdict() {
        Status result;
        const auto all = pids_.size();
        for (std::size_t i = 0; i < all; ++i) {
            int status = 0;
            pid_t reaped = 0;
            do {
                reaped = ::waitpid(pids_[i], &status, 0);
            } while (reaped < 0 && errno == EINTR);
            if (reaped < 0 && result) result = fail_errno(errno, fmt::format("wait for task {}", i + 1));
            if (reaped >= 0 && WIFSIGNALED(status) && result)
                result = fail(Fault::io, "task {} of {} {}", i + 1, all, describe_exit(status));
        }
        pids_.clear();
        if (const auto failures = board_.failures.load(); failures > 0) {
            const auto what = fmt::format("{} in task {}", describe(board_.failed_step), board_.failed_task);
            return fail(Fault::io, "{} ({} of {} tasks failed)", fail_errno(board_.error, what).value().text(),
                        failures, all);
        }
        return result;
    }

  private:
    Status none_killed() const {
        siginfo_t info{};
        if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return fail_errno(errno, "waitid");
        if (info.si_pid != 0 && (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED))
            return fail(Fault::io, "a task was killed by signal {}", info.si_status);
        return {};
    }

    void end() {
        for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
        for (const pid_t pid : pids_)
            while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
            }
        pids_.clear();
    }

    Board& board_;
    std::vector<pid_t> pids_;
};

class ProcRead final : public Workload {
  public:
    Status prepare(const RunContext& context) override {
        auto cpus = usable_cpus();
        if (!cpus) return pass(cpus);
        cpus_ = std::move(*cpus);
        plan_.tasks = static_cast<std::uint32_t>(context.parameter("tasks"));
        plan_.loops = context.parameter("loops");
        plan_.chunk = static_cast<std::size_t>(context.parameter("chunk"));
        plan_.memory = std::max(static_cast<std::size_t>(context.parameter("memory")) * 1024, plan_.chunk);
        plan_.spin = plan_.tasks <= cpus_.size();
        return {};
    }

    Result<std::vector<msg::Sample>> run(const RunContext&, Meter& meter) override {
        auto shared = Shared<Board>::make();
        if (!shared) return pass(shared);
        Board& board = *shared->operator->();
        Tasks tasks(board);
        if (auto forked = tasks.fork_all(plan_, cpus_); !forked) return pass(forked);
        if (auto ready = tasks.wait_for_all(board.ready); !ready) return pass(ready);
        if (auto started = meter.start(); !started) return pass(started);
        board.go.store(1, std::memory_order_release);
        if (!plan_.spin)
            if (const int error = futex_wake_all(board.go); error != 0) return fail_errno(error, "futex wake");
        const auto done = tasks.wait_for_all(board.done);
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        if (!done) return pass(done);
        if (auto good = tasks.verdict(); !good) return pass(good);
        return std::vector{sample("elapsed", static_cast<double>(meter.elapsed_ns()))};
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>{};  // every file is closed and every task reaped: nothing is left
    }

  private:
    Plan plan_;
    std::vector<int> cpus_;
};

}  // namespace

std::unique_ptr<Workload> make_proc_read() {
    return std::make_unique<ProcRead>();
}

}  // namespace kab::guest
