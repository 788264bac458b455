#include "agent/guest/workloads/sem_check.h"

#include <fmt/format.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "agent/guest/workloads/sem_check_parts.h"

namespace kab::guest {
namespace sem_check {
namespace {

/// Far longer than anything here takes, even emulated on a busy machine.
constexpr Nanoseconds patience = std::chrono::seconds(60);

std::string error_name(int error) {
    return error == 0 ? "success" : fmt::format("{} ({})", ::strerrorname_np(error), std::strerror(error));
}

}  // namespace

int errno_of(int result) {
    return result < 0 ? errno : 0;
}

Status expect_error(const char* what, int got, int wanted) {
    if (got == wanted) return {};
    return fail(Fault::io, "{}: expected {}, got {}", what, error_name(wanted), error_name(got));
}

Status expect_value(const char* what, int got, int wanted) {
    if (got == wanted) return {};
    return fail(Fault::io, "{}: expected {}, got {}", what, wanted, got);
}

TaskResult expect_in_task(const char* what, int got, int wanted) {
    if (got == wanted) return {};
    return TaskFailure{what, got};
}

Result<TaskGroup> start_task(const std::function<TaskResult()>& work) {
    auto task = TaskGroup::make(1, false);
    if (!task) return pass(task);
    const TaskBody body{[](std::uint32_t) { return TaskResult{}; }, [&](std::uint32_t) { return work(); }};
    if (auto started = task->start(body); !started) return pass(started);
    if (auto gone = task->go(); !gone) return pass(gone);
    return task;
}

Status finish(TaskGroup& task) {
    if (auto done = task.wait_until_done(); !done) return done;
    return task.verdict();
}

Status wait_for_sleepers(int set, int semaphore, int command, int number) {
    const std::int64_t from = raw_clock_ns();
    for (;;) {
        const int sleepers = ::semctl(set, semaphore, command);
        const char* name = command == GETNCNT ? "GETNCNT" : "GETZCNT";
        if (sleepers < 0) return fail_errno(errno, fmt::format("semctl {}", name));
        if (sleepers == number) return {};
        if (Nanoseconds{raw_clock_ns() - from} > patience)
            return fail(Fault::timeout, "{} of semaphore {}: expected {} sleepers, still {}", name, semaphore, number,
                        sleepers);
        const timespec pause{0, 1'000'000};
        (void)::nanosleep(&pause, nullptr);
    }
}

}  // namespace sem_check

namespace {

class SemCheck final : public Workload {
  public:
    Status prepare(const RunContext& context) override {
        tasks_ = static_cast<std::uint32_t>(context.parameter("tasks"));
        loops_ = context.parameter("loops");
        removals_ = context.parameter("removals");
        return {};
    }

    Result<std::vector<msg::Sample>> run(const RunContext&, Meter& meter) override {
        const struct {
            const char* name;
            std::function<Status()> check;
        } parts[] = {
            {"simple operations", sem_check::simple_operations},
            {"operations together", sem_check::operations_together},
            {"timeouts", sem_check::timeouts},
            {"undo", sem_check::undo},
            {"bad arguments", sem_check::bad_arguments},
            {"control", sem_check::control},
            {"refusals", sem_check::refusals},
            {"refusals by label", sem_check::refusals_by_label},
            {"removal", [this] { return sem_check::removal(tasks_, removals_); }},
            {"conservation", [this] { return sem_check::conservation(tasks_, loops_); }},
        };
        if (auto started = meter.start(); !started) return pass(started);
        for (const auto& part : parts)
            if (auto good = part.check(); !good) return fail(Fault::io, "{}: {}", part.name, good.error().text());
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        return std::vector<msg::Sample>{};
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>{};  // each part reaps its tasks and removes its sets
    }

  private:
    std::uint32_t tasks_ = 0;
    std::int64_t loops_ = 0, removals_ = 0;
};

}  // namespace

std::unique_ptr<Workload> make_sem_check() {
    return std::make_unique<SemCheck>();
}

}  // namespace kab::guest
