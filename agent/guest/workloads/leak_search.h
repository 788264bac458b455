#pragma once
// Is what a batch of work took from the kernel given back? A cache may grow at first, not for ever.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "common/result.h"

namespace kab::guest {

/// Batches of a search at most, the one before it included. Many, as slabs that are kept in part swing by more than a
/// few leaks: a leak costs them all, anything else some four.
inline constexpr int most_batches = 16;
inline constexpr std::size_t steady_batches = 3;

struct LeakSearch {
    std::string batch_name;                         ///< "batch of 200 ipc namespaces"
    std::int64_t least_leak_bytes = 0;              ///< a batch that leaves less leaks nothing
    std::string measure_name = "SUnreclaim";        ///< how errors call what is measured
    std::function<Result<std::int64_t>()> measure;  ///< bytes in use, once all has been freed that will be
    std::function<Status()> carry_out;              ///< one batch
};

/// After a first batch: more of them until some in a row, steady_batches at least, leave less than a leak behind on
/// average. A single one may do so by luck, where something else was freed meanwhile. An error after most_batches.
Status expect_no_leak(const LeakSearch& search);

/// Kernel memory in small objects that cannot be reclaimed, in bytes: SUnreclaim of /proc/meminfo.
Result<std::int64_t> kernel_objects();

}  // namespace kab::guest
