#pragma once
// perf_event_open(2): what the kernel and the CPU count while a workload runs.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/files.h"
#include "protocol/messages.h"

namespace kab::guest {

/// The event of a counter named in common/workload_catalog.h.
struct PerfEvent {
    std::uint32_t type = 0;
    std::uint64_t config = 0;
};

/// nullptr when there is none of that name.
const PerfEvent* find_perf_event(std::string_view counter);

/// A sample of raw * enabled / running: the value that was had if the event shared its hardware
/// counter. Absent with the reason when that would be a guess (the event ran for less than 10% of the time), and
/// when a machine pretends to count: no cycle and no instruction in all the time that it ran.
msg::Sample scaled_sample(std::string metric, std::uint64_t raw, std::uint64_t enabled_ns, std::uint64_t running_ns);

/// Counters of the calling process and of all children it makes after opening (inherited). A child's
/// count arrives when it exits: reap all of them before reading.
class CounterSet {
  public:
    /// Opens all, stopped. A counter that cannot be opened is part of the set, and its sample is
    /// absent with the reason.
    static CounterSet open(const std::vector<std::string>& names);

    Status enable();
    Status disable();
    /// One sample a counter, in the order of opening.
    Result<std::vector<msg::Sample>> read() const;

  private:
    struct Counter {
        std::string name;
        UniqueFd fd;
        std::string reason;  ///< why `fd` is not open
    };
    Status control(unsigned long request, const char* action);

    std::vector<Counter> counters_;
};

}  // namespace kab::guest
