#pragma once
#include <memory>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// Processes that open, read and close /proc/cpuinfo at once: each must read the whole of it, every time.
std::unique_ptr<Workload> make_proc_check();

/// Removes a /proc entry under its readers, openers and one that only holds it open. The removal must wait until the
/// readers inside have left; afterwards nobody may open or read the entry, and each open must have been released once.
/// Needs the test-only kernel patch under patches/linux-6.1/proc-read/test.
std::unique_ptr<Workload> make_proc_removal_check();

}  // namespace kab::guest
