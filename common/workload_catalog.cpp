#include "common/workload_catalog.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace kab {
namespace {

constexpr ParameterInfo ipcns_exit_parameters[] = {
    {"children", 1000, 1, 100000, "child processes, each of which leaves its own IPC namespace once"},
    {"concurrency", 0, 0, 100000, "children alive at a time; 0 means all at once"},
};

constexpr MetricInfo ipcns_exit_metrics[] = {
    {"elapsed", "ns", Better::lower, Scale::log, "from before the first fork until the last child is reaped"},
    {"backlog", "ns", Better::lower, Scale::log,
     "from the end of the run until every namespace it left is really freed"},
};

constexpr ParameterInfo proc_read_parameters[] = {
    {"tasks", 2, 1, 4096, "reading processes, each pinned to a CPU, in turn when there are more of them than CPUs",
     true},
    {"loops", 1000, 1, 10000000, "times each of them opens, reads and closes the file"},
    {"chunk", 1024, 1, 65536, "bytes of each read"},
    {"memory", 64, 0, 1048576, "KiB each of them has touched beforehand"},
};

constexpr MetricInfo proc_read_metrics[] = {
    {"elapsed", "ns", Better::lower, Scale::log, "from the go until the last task has done its last close"},
};

constexpr ParameterInfo semop_multi_parameters[] = {
    {"cpus", 0, 0, 4096, "CPUs that the threads are pinned to, in turn; 0 means all there are"},
    {"threads", 256, 1, 4096, "threads, each of which takes and gives back one semaphore over and over"},
    {"semaphores", 128, 1, 32000, "semaphores of the set; thread t uses number t modulo this"},
    {"initial", 0, 0, 32767, "value each semaphore starts with; 0 means one for each of its threads: nobody sleeps"},
    {"duration", 30000, 1, 3600000, "ms after which the threads are told to stop"},
    {"operations", 0, 0, 1000000000000, "operations of all threads together, instead of the duration; 0 means none"},
};

constexpr MetricInfo semop_multi_metrics[] = {
    {"rate", "1/s", Better::higher, Scale::log, "operations a second, from the go until the last thread has stopped"},
    {"operations", "1", Better::higher, Scale::log, "semop calls of all threads together"},
};

constexpr ParameterInfo postwait_parameters[] = {
    {"users", 8, 1, 4096, "processes, each with a semaphore of its own in one set", true},
    {"loops", 1000, 1, 10000000, "times each of them scans, posts to the next and waits on its own"},
    {"scan", 64, 0, 1048576, "KiB of its own memory that a user reads before each post"},
};

constexpr MetricInfo postwait_metrics[] = {
    {"elapsed", "ns", Better::lower, Scale::log, "from the go until the last user has done its last wait"},
    {"rate", "1/s", Better::higher, Scale::log, "posts and waits of all users together, a second"},
};

constexpr ParameterInfo ipcns_check_parameters[] = {
    {"namespaces", 200, 1, 10000, "IPC namespaces that are filled with objects and left"},
    {"rounds", 200, 1, 100000, "times one process enters a namespace that another is just leaving"},
};

constexpr ParameterInfo sem_check_parameters[] = {
    {"tasks", 6, 2, 64, "processes that change one set at once, and that sleep on one while it is removed"},
    {"loops", 2000, 1, 10000000, "operations of each of them on that set"},
    {"removals", 50, 1, 100000, "sets that are removed under their sleepers"},
};

constexpr ParameterInfo proc_check_parameters[] = {
    {"tasks", 4, 1, 256, "processes that open, read and close /proc/cpuinfo at once"},
    {"loops", 200, 1, 1000000, "times each of them does"},
};

constexpr ParameterInfo proc_removal_check_parameters[] = {
    {"rounds", 10, 1, 10000, "times the entry is removed under its readers"},
    {"readers", 4, 1, 64, "readers inside the entry while it is removed"},
};

constexpr ParameterInfo spawn_parameters[] = {
    {"loops", 1000, 1, 10000000, "processes that are made, one after the other"},
    {"nested", 0, 0, 1, "1: from inside a nested PID namespace, made beforehand"},
};

constexpr ParameterInfo execl_parameters[] = {
    {"loops", 200, 1, 10000000, "times the program replaces itself"},
    {"nested", 0, 0, 1, "1: from inside a nested PID namespace, made beforehand"},
};

constexpr ParameterInfo shell_parameters[] = {
    {"loops", 10, 1, 1000000, "rounds of scripts, one after the other"},
    {"concurrency", 1, 1, 256, "scripts that run at once in each round", true},
    {"nested", 0, 0, 1, "1: from inside a nested PID namespace, made beforehand"},
};

constexpr ParameterInfo ps_parameters[] = {
    {"processes", 100, 1, 100000, "sleeping processes that are listed"},
    {"loops", 10, 1, 1000000, "listings, one after the other"},
    {"nested", 0, 0, 1, "1: from inside a nested PID namespace with its own /proc, made beforehand"},
};

/// What UnixBench prints for its tests.
constexpr MetricInfo unixbench_metrics[] = {
    {"rate", "1/s", Better::higher, Scale::log, "loops a second"},
    {"index", "1", Better::higher, Scale::log, "UnixBench's index: the rate beside its published baseline, times 10"},
};

constexpr MetricInfo ps_metrics[] = {
    {"system-time", "ns", Better::lower, Scale::log,
     "CPU time of the listing process in the kernel, by ticks; absent in exact mode"},
    {"elapsed", "ns", Better::lower, Scale::log, "from before the first listing until after the last"},
};

constexpr ParameterInfo pid_check_parameters[] = {
    {"processes", 50, 2, 10000, "processes that a dying namespace takes with it"},
    {"rounds", 50, 1, 100000, "namespaces that are made and left, one after the other"},
};

constexpr WorkloadInfo workload_table[] = {
    {"ipcns-exit", ipcns_exit_parameters, ipcns_exit_metrics,
     "fork children; each calls unshare(CLONE_NEWIPC) and exits; the parent waits for all"},
    {"proc-read", proc_read_parameters, proc_read_metrics,
     "tasks pinned to CPUs wait for one go, then each opens, reads and closes /proc/cpuinfo over and over"},
    {"semop-multi", semop_multi_parameters, semop_multi_metrics,
     "threads pinned to CPUs take and give back semaphores of one set over and over"},
    {"postwait", postwait_parameters, postwait_metrics,
     "processes in a ring scan memory, post to the next one's semaphore and wait on their own"},
    {"spawn", spawn_parameters, unixbench_metrics, "fork, exit and wait, over and over (UnixBench's spawn)"},
    {"execl", execl_parameters, unixbench_metrics, "a program replaces itself, over and over (UnixBench's execl)"},
    {"shell", shell_parameters, unixbench_metrics,
     "scripts of sort, od, grep, tee, wc and rm in a real shell (UnixBench's shell scripts)", false, true},
    {"ps", ps_parameters, ps_metrics, "list /proc and read stat, status and cmdline of each process, as ps does"},
    {"pid-check",
     pid_check_parameters,
     {},
     "pids, signals, sessions and the end of nested PID namespaces, as deep as the kernel lets them nest",
     true},
    {"sem-check",
     sem_check_parameters,
     {},
     "semop and semctl do what they should: waits, undo, refusals, removal under sleepers, operations at once",
     true},
    {"ipcns-check",
     ipcns_check_parameters,
     {},
     "ipc namespaces are really freed, with what was in them, and one that is being left can be entered or not",
     true},
    {"proc-check",
     proc_check_parameters,
     {},
     "readers of one /proc file that open and close it at once all read the whole of it",
     true},
    {"proc-removal-check",
     proc_removal_check_parameters,
     {},
     "the removal of a /proc entry waits for the readers inside it, and nobody can open it afterwards",
     true},
};

constexpr CounterInfo counter_table[] = {
    {"task-clock", "ns", Better::lower, false, "CPU time of the workload's tasks"},
    {"cpu-clock", "ns", Better::lower, false, "CPU time by the CPU clock"},
    {"context-switches", "1", Better::lower, false, "switches between tasks"},
    {"cpu-migrations", "1", Better::lower, false, "moves of a task to another CPU"},
    {"page-faults", "1", Better::lower, false, "page faults, minor and major"},
    {"minor-faults", "1", Better::lower, false, "page faults served without I/O"},
    {"major-faults", "1", Better::lower, false, "page faults that needed I/O"},
    {"cycles", "1", Better::lower, true, "CPU cycles"},
    {"instructions", "1", Better::lower, true, "instructions retired"},
    {"branches", "1", Better::lower, true, "branches retired"},
    {"branch-misses", "1", Better::lower, true, "branches mispredicted"},
    {"cache-references", "1", Better::lower, true, "last-level cache accesses"},
    {"cache-misses", "1", Better::lower, true, "last-level cache misses"},
    {"stalled-cycles-frontend", "1", Better::lower, true, "cycles in which the front end issued nothing"},
    {"stalled-cycles-backend", "1", Better::lower, true, "cycles in which the back end took nothing"},
    {"ref-cycles", "1", Better::lower, true, "cycles at the reference frequency"},
};

constexpr MetricInfo counter_run_table[] = {
    {"counted-elapsed", "ns", Better::lower, Scale::log, "elapsed time of an iteration with inherited counters on"},
    {"machine-busy", "ns", Better::lower, Scale::log,
     "time all CPUs together were not idle during the iteration, kernel threads included"},
    {"drain-busy", "ns", Better::lower, Scale::log,
     "the same from the end of the iteration until what it left behind was gone: what deferred work costs"},
};

constexpr MetricInfo exact_run_table[] = {
    {"busy", "ns", Better::lower, Scale::log,
     "the part of the iteration in which the CPU worked: one instruction is 1 ns"},
    {"idle", "ns", Better::lower, Scale::linear, "the rest of it, in which the CPU slept until the next timer"},
};

constexpr MetricInfo profile_run_table[] = {
    {"profile-samples", "1", Better::neither, Scale::log, "samples of all CPUs in a profiled iteration"},
};

}  // namespace

const char* to_string(Better better) {
    switch (better) {
        case Better::lower: return "lower";
        case Better::higher: return "higher";
        case Better::neither: return "neither";
    }
    return "neither";
}

const char* to_string(Scale scale) {
    return scale == Scale::log ? "log" : "linear";
}

std::span<const WorkloadInfo> workloads() {
    return workload_table;
}
std::span<const CounterInfo> counters() {
    return counter_table;
}
std::span<const MetricInfo> counter_run_metrics() {
    return counter_run_table;
}

std::span<const MetricInfo> exact_run_metrics() {
    return exact_run_table;
}

bool is_exact_metric(std::string_view name) {
    return std::any_of(std::begin(exact_run_table), std::end(exact_run_table),
                       [&](const MetricInfo& metric) { return metric.name == name; });
}

std::span<const MetricInfo> profile_run_metrics() {
    return profile_run_table;
}

const WorkloadInfo* find_workload(std::string_view name) {
    for (const auto& workload : workload_table)
        if (workload.name == name) return &workload;
    return nullptr;
}

const CounterInfo* find_counter(std::string_view name) {
    for (const auto& counter : counter_table)
        if (counter.name == name) return &counter;
    return nullptr;
}

MetricInfo find_metric(std::string_view workload, std::string_view metric) {
    if (const auto* info = find_workload(workload))
        for (const auto& own : info->metrics)
            if (own.name == metric) return own;
    for (const auto& shared : counter_run_table)
        if (shared.name == metric) return shared;
    for (const auto& shared : exact_run_table)
        if (shared.name == metric) return shared;
    for (const auto& shared : profile_run_table)
        if (shared.name == metric) return shared;
    if (const auto* counter = find_counter(metric)) {
        // A counter can be 0 in a short run (major-faults): those are compared as differences.
        const bool can_be_zero = counter->name == "major-faults" || counter->name == "cpu-migrations";
        return {counter->name, counter->unit, counter->better, can_be_zero ? Scale::linear : Scale::log, counter->doc};
    }
    if (metric.size() > share_prefix.size() && metric.starts_with(share_prefix))
        return {share_prefix, "1", Better::neither, Scale::linear, "share of the samples of a profiled iteration"};
    return {};
}

}  // namespace kab
