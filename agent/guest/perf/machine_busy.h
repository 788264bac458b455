#pragma once
// For how long all CPUs together were not idle: unlike inherited counters this includes kernel
// threads, to which a change may have moved work.
#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"

namespace kab::guest {

/// Idle time of all CPUs together since boot, at a moment of CLOCK_MONOTONIC.
struct IdleSnapshot {
    std::int64_t now_ns = 0;
    std::int64_t idle_ns = 0;  ///< waiting for I/O counts as idle
    std::int64_t cpus = 0;
};

/// From the text of /proc/timer_list, which has the idle time of a NO_HZ kernel in nanoseconds. It
/// leaves out the idle period in which a CPU is now: that is added for a CPU whose tick is
/// stopped. A CPU that idles with its tick on accounts for it at every tick, so the error is at most
/// one tick a CPU. Fault::not_found when the kernel does not count idle time there (no NO_HZ).
Result<IdleSnapshot> idle_from_timer_list(std::string_view timer_list);

/// From the text of /proc/stat, in steps of 10 ms, and on a kernel without NO_HZ by sampling at the
/// tick only. `now_ns` is when it was read.
Result<IdleSnapshot> idle_from_stat(std::string_view stat, std::int64_t now_ns);

/// Reads the finer of the two that this kernel has; /proc/stat where nohz_full= is in force.
Result<IdleSnapshot> idle_now();

/// CPU time between two snapshots that was not idle; never negative. Fault::io when CPUs came or went.
Result<std::int64_t> busy_between(const IdleSnapshot& from, const IdleSnapshot& to);

}  // namespace kab::guest
