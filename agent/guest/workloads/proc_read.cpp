#include "agent/guest/workloads/proc_read.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/guest/workloads/task_group.h"

namespace kab::guest {
namespace {

constexpr const char* file = "/proc/cpuinfo";
constexpr std::size_t page = 4096;

struct Plan {
    std::uint32_t tasks = 0;
    std::int64_t loops = 0;
    std::size_t chunk = 0, memory = 0;  ///< bytes
};

/// Memory of the task's own, every page of it touched; it goes with the process.
char* take_memory(std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* first = static_cast<char*>(memory);
    for (std::size_t at = 0; at < bytes; at += page) first[at] = 1;
    return first;
}

TaskResult read_in_a_loop(const Plan& plan, char* buffer) {
    for (std::int64_t i = 0; i < plan.loops; ++i) {
        const int fd = ::open(file, O_RDONLY | O_CLOEXEC);
        if (fd < 0) return TaskFailure{"open /proc/cpuinfo", errno};
        const ssize_t got = ::read(fd, buffer, plan.chunk);
        if (got <= 0) return TaskFailure{"read /proc/cpuinfo", got == 0 ? ENODATA : errno};
        if (::close(fd) != 0) return TaskFailure{"close /proc/cpuinfo", errno};
    }
    return {};
}

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
        return {};
    }

    Result<std::vector<msg::Sample>> run(const RunContext&, Meter& meter) override {
        auto tasks = TaskGroup::make(plan_.tasks, plan_.tasks <= cpus_.size());
        if (!tasks) return pass(tasks);
        if (auto ready = tasks->start(body()); !ready) return pass(ready);
        if (auto started = meter.start(); !started) return pass(started);
        if (auto gone = tasks->go(); !gone) return pass(gone);
        const auto done = tasks->wait_until_done();
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        if (!done) return pass(done);
        if (auto good = tasks->verdict(); !good) return pass(good);
        return std::vector{sample("elapsed", static_cast<double>(meter.elapsed_ns()))};
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>{};  // every file is closed and every task reaped: nothing is left
    }

  private:
    /// Each task is a process with a copy of all this.
    TaskBody body() {
        return {[this](std::uint32_t number) -> TaskResult {
                    if (const int error = pin_to(cpus_[number % cpus_.size()]); error != 0)
                        return TaskFailure{"sched_setaffinity", error};
                    if ((buffer_ = take_memory(plan_.memory)) == nullptr)
                        return TaskFailure{"mmap of its memory", errno};
                    return {};
                },
                [this](std::uint32_t) { return read_in_a_loop(plan_, buffer_); }};
    }

    Plan plan_;
    std::vector<int> cpus_;
    char* buffer_ = nullptr;  ///< in a task
};

}  // namespace

std::unique_ptr<Workload> make_proc_read() {
    return std::make_unique<ProcRead>();
}

}  // namespace kab::guest
