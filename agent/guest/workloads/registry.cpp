#include "agent/guest/workloads/ipcns_exit.h"
#include "agent/guest/workloads/proc_read.h"
#include "agent/guest/workloads/workload.h"

namespace kab::guest {

std::span<const WorkloadEntry> all_workloads() {
    static constexpr WorkloadEntry entries[] = {
        {"ipcns-exit", make_ipcns_exit},
        {"proc-read", make_proc_read},
    };
    return entries;
}

}  // namespace kab::guest
