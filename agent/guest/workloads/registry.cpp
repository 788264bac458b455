#include "agent/guest/workloads/ipcns_exit.h"
#include "agent/guest/workloads/workload.h"

namespace kab::guest {

std::span<const WorkloadEntry> all_workloads() {
    static constexpr WorkloadEntry entries[] = {
        {"ipcns-exit", make_ipcns_exit},
    };
    return entries;
}

}  // namespace kab::guest
