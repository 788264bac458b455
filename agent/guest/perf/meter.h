#pragma once
// What is measured around the part of a workload that counts.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/guest/perf/counters.h"
#include "agent/guest/perf/machine_busy.h"
#include "agent/guest/perf/sampler.h"

namespace kab::guest {

/// CLOCK_MONOTONIC_RAW in nanoseconds: the machine's own oscillator, not slewed by anybody.
std::int64_t raw_clock_ns();

/// A workload calls start() right before what counts and stop() right after it, once each; what it
/// does before and after is not measured. A meter without counters only reads the clock, as
/// inherited counters slow a workload that forks; with counters it adds them and the busy time of
/// the machine, and its elapsed time is another metric; with a sampler it starts and stops that.
class Meter {
  public:
    /// Empty `counters` and no `sampler`: only the clock. `sampler` outlives this.
    explicit Meter(const std::vector<std::string>& counters, Sampler* sampler = nullptr);

    /// Exact mode: start() waits for this phase of the kernel's timer, and it is known how long the CPU was busy.
    void be_exact(std::int64_t timer_phase_ns) { timer_phase_ns_ = timer_phase_ns; }

    Status start();
    Status stop();

    std::int64_t started_ns() const { return started_ns_; }  ///< by raw_clock_ns(); 0 before start()
    std::int64_t stopped_ns() const { return stopped_ns_; }
    std::int64_t elapsed_ns() const { return stopped_ns_ - started_ns_; }

    /// "busy" and "idle", after stop(), of a meter in exact mode; absent with the reason where the kernel does not
    /// count idle time in nanoseconds.
    std::vector<msg::Sample> exact_samples() const;

    /// After stop(), of a meter with counters: these, "counted-elapsed" and "machine-busy".
    Result<std::vector<msg::Sample>> counted_samples() const;
    /// "drain-busy": from stop() until now, when what the run left has been drained. Of a meter with counters.
    msg::Sample drain_busy() const;

  private:
    std::optional<CounterSet> counters_;
    Sampler* sampler_;
    std::optional<std::int64_t> timer_phase_ns_;
    Result<IdleSnapshot> idle_at_start_, idle_at_stop_;
    std::int64_t started_ns_ = 0, stopped_ns_ = 0;
};

/// A sample with a value.
msg::Sample sample(std::string metric, double value);

}  // namespace kab::guest
