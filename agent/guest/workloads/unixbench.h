#pragma once
// What UnixBench's tests have in common. Its programs run for a fixed time and count loops; ours do a fixed number of
// loops and are timed: the same work in every run, also where instructions are the clock.
#include <optional>
#include <vector>

#include "agent/guest/workloads/bench_worker.h"
#include "protocol/messages.h"

namespace kab::guest {

/// UnixBench's published baselines: what a SPARCstation 20-61 did, in loops a second. An index of 10 is that machine.
inline constexpr double spawn_baseline = 126.0, execl_baseline = 43.0;
/// Of its shell scripts, which it counts by the minute; nullopt for another concurrency than its 1 and 8.
std::optional<double> shell_baseline(std::int64_t concurrency);

/// "rate" and "index" of so many loops. Without a baseline the index is absent.
std::vector<msg::Sample> unixbench_samples(std::int64_t loops, const WorkTimes& times, std::optional<double> baseline);

}  // namespace kab::guest
