#include "agent/guest/workloads/spawn.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "agent/guest/workloads/unixbench.h"

namespace kab::guest {
namespace {

Result<WorkTimes> spawn_in_a_loop(std::int64_t loops) {
    WorkTimes times;
    times.started_ns = raw_clock_ns();
    for (std::int64_t i = 1; i <= loops; ++i) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        if (child < 0) return fail_errno(errno, fmt::format("fork of child {} of {}", i, loops));
        int status = -1;
        const pid_t reaped = ::waitpid(-1, &status, 0);
        if (reaped < 0) return fail_errno(errno, fmt::format("wait for child {} of {}", i, loops));
        if (reaped != child)
            return fail(Fault::io, "child {} of {} is process {}, but {} was waited for", i, loops, child, reaped);
        if (status != 0) return fail(Fault::io, "child {} of {} ended with wait status {}", i, loops, status);
    }
    times.stopped_ns = raw_clock_ns();
    return times;
}

class Spawn final : public Workload {
  public:
    Status prepare(const RunContext&) override { return {}; }

    Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) override {
        const auto loops = context.parameter("loops");
        Work work;
        work.work = [loops] { return spawn_in_a_loop(loops); };
        const auto times = run_in_worker(work, context.parameter("nested") == 1, meter);
        if (!times) return pass(times);
        return unixbench_samples(loops, *times, spawn_baseline);
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>{};  // every child is reaped: nothing is left
    }
};

}  // namespace

std::unique_ptr<Workload> make_spawn() {
    return std::make_unique<Spawn>();
}

}  // namespace kab::guest
