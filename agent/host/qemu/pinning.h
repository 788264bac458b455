#pragma once
// Which host CPUs the vCPUs run on.
#include <optional>
#include <vector>

#include "common/result.h"

namespace kab::qemu {

struct HostCpu {
    int number = 0;
    int core = 0;  ///< CPUs with the same core are siblings; unique over the machine
    auto operator<=>(const HostCpu&) const = default;
};

/// The CPUs that this process may use, with their cores.
std::vector<HostCpu> usable_cpus();

/// A CPU for each vCPU, or nothing where CPUs do not suffice: one must be left for QEMU's own threads
/// and for the host. Whole cores are preferred to siblings, and low CPUs (where interrupts go) left free.
std::optional<std::vector<int>> choose_cpus(std::vector<HostCpu> usable, std::size_t vcpus);

/// sched_setaffinity for a thread. Fault::io.
Status pin_thread(int thread_id, int cpu);

}  // namespace kab::qemu
