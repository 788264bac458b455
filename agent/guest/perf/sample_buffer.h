#pragma once
// The ring buffer of a sampling event, as perf_event_open(2) describes it. Pure.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "common/result.h"

namespace kab::guest {

/// Where a CPU was when its timer said so.
struct StackSample {
    bool user = false;  ///< in user space; the rest is about the kernel
    std::uint64_t address = 0;
    /// Return addresses, the nearest caller first. Valid during the call only.
    std::span<const std::uint64_t> callers;
};

/// What else the kernel wrote into a buffer.
struct BufferEvents {
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;       ///< samples that there was no room for, as far as told
    std::uint64_t throttled = 0;  ///< times that sampling was held up
};

/// Reads the records from `tail` to `head` (both count on and on) of a ring of `data.size()` bytes, a power of two,
/// which were written with PERF_SAMPLE_IP and PERF_SAMPLE_CALLCHAIN. Fault::protocol for what cannot be such a record.
Result<BufferEvents> read_samples(std::span<const std::byte> data, std::uint64_t tail, std::uint64_t head,
                                  const std::function<void(const StackSample&)>& take);

/// The most bytes that a sample with at most `depth` entries in its chain can have.
std::size_t largest_sample(std::size_t depth);

}  // namespace kab::guest
