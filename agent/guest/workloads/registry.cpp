#include "agent/guest/workloads/execl.h"
#include "agent/guest/workloads/ipcns_check.h"
#include "agent/guest/workloads/ipcns_exit.h"
#include "agent/guest/workloads/pid_check.h"
#include "agent/guest/workloads/postwait.h"
#include "agent/guest/workloads/proc_check.h"
#include "agent/guest/workloads/proc_read.h"
#include "agent/guest/workloads/ps.h"
#include "agent/guest/workloads/sem_check.h"
#include "agent/guest/workloads/semop_multi.h"
#include "agent/guest/workloads/shell.h"
#include "agent/guest/workloads/spawn.h"
#include "agent/guest/workloads/workload.h"

namespace kab::guest {

std::span<const WorkloadEntry> all_workloads() {
    static constexpr WorkloadEntry entries[] = {
        {"ipcns-exit", make_ipcns_exit},
        {"proc-read", make_proc_read},
        {"semop-multi", make_semop_multi},
        {"postwait", make_postwait},
        {"sem-check", make_sem_check},
        {"ipcns-check", make_ipcns_check},
        {"spawn", make_spawn},
        {"execl", make_execl},
        {"shell", make_shell},
        {"ps", make_ps},
        {"pid-check", make_pid_check},
        {"proc-check", make_proc_check},
        {"proc-removal-check", make_proc_removal_check},
    };
    return entries;
}

}  // namespace kab::guest
