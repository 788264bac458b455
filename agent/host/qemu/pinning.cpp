#include "agent/host/qemu/pinning.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "common/files.h"

namespace kab::qemu {

std::vector<HostCpu> usable_cpus() {
    std::vector<HostCpu> result;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return result;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &set)) continue;
        HostCpu entry{cpu, cpu};
        // "0,4" or "0-1": the first sibling names the core.
        const auto path = fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu);
        if (const auto siblings = read_file(path)) {
            std::from_chars(siblings->data(), siblings->data() + siblings->size(), entry.core);
        }
        result.push_back(entry);
    }
    return result;
}

std::optional<std::vector<int>> choose_cpus(std::vector<HostCpu> usable, std::size_t vcpus) {
    if (vcpus == 0 || usable.size() < vcpus + 1) return std::nullopt;
    std::sort(usable.begin(), usable.end(), std::greater<>());
    std::vector<int> first_of_core, siblings;
    std::set<int> seen;
    for (const HostCpu& cpu : usable) (seen.insert(cpu.core).second ? first_of_core : siblings).push_back(cpu.number);
    first_of_core.insert(first_of_core.end(), siblings.begin(), siblings.end());
    first_of_core.resize(vcpus);
    std::reverse(first_of_core.begin(), first_of_core.end());
    return first_of_core;
}

Status pin_thread(int thread_id, int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    if (::sched_setaffinity(thread_id, sizeof set, &set) != 0) {
        return fail_errno(errno, fmt::format("pin thread {} to CPU {}", thread_id, cpu));
    }
    return {};
}

}  // namespace kab::qemu
