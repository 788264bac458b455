#pragma once
// How quiet the host was during a run, as it tells itself: a guest under emulation sees nothing of that.
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/files.h"
#include "protocol/messages.h"

namespace kab::qemu {

/// Reads /proc and /sys at the start and the end of each run of one boot. A condition is a value, or the reason why
/// there is none:
///   steal      share of the CPU time of all CPUs that the host's own hypervisor took; over the run, or over at least
///              the second before its end, as /proc/stat counts in steps of 10 ms
///   run-delay  share of the run that the threads of the virtual CPUs were ready and had no CPU
///   host-load  runnable tasks per CPU, without the emulator's threads and this process: the lower of the readings at
///              the run's start and end, so that what passes in a moment does not count
///   throttled  times that a core of the host was throttled for heat in the run
class HostConditions {
  public:
    explicit HostConditions(fs::path root = "/") : root_(std::move(root)) {}

    /// The threads of the virtual CPUs, before they run.
    void begin(std::vector<int> vcpu_threads, SteadyTime now);
    void run_started(SteadyTime now);
    /// All conditions of the run, in the order above.
    std::vector<msg::Sample> run_finished(SteadyTime now);

  private:
    struct CpuTimes {
        std::int64_t steal = 0, all = 0;  ///< ticks
        std::int64_t cpus = 0, runnable = 0;
    };
    struct Reading {
        SteadyTime at;
        Result<CpuTimes> times;
        Result<std::int64_t> delay_ns, throttled;
        Result<double> load;
    };
    Reading read(SteadyTime now) const;
    Result<CpuTimes> read_times() const;
    Result<std::int64_t> read_delay() const;
    Result<std::int64_t> read_throttled() const;
    Result<std::int64_t> own_runnable() const;
    Result<double> load(const Result<CpuTimes>& times) const;
    Result<double> steal(const Reading& end) const;
    Result<double> run_delay(const Reading& end) const;

    fs::path root_;
    std::vector<int> threads_;
    std::optional<Reading> start_;  ///< of the run
    struct Past {
        SteadyTime at;
        CpuTimes times;
    };
    std::deque<Past> past_;  ///< readings of this boot that a later window may begin at, oldest first
};

}  // namespace kab::qemu
