#include "common/workload_catalog.h"

#include <array>

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
    {"tasks", 2, 1, 4096, "reading processes, each pinned to a CPU, in turn when there are more of them than CPUs"},
    {"loops", 1000, 1, 10000000, "times each of them opens, reads and closes the file"},
    {"chunk", 1024, 1, 65536, "bytes of each read"},
    {"memory", 64, 0, 1048576, "KiB each of them has touched beforehand"},
};

constexpr MetricInfo proc_read_metrics[] = {
    {"elapsed", "ns", Better::lower, Scale::log, "from the go until the last task has done its last close"},
};

constexpr WorkloadInfo workload_table[] = {
    {"ipcns-exit", ipcns_exit_parameters, ipcns_exit_metrics,
     "fork children; each calls unshare(CLONE_NEWIPC) and exits; the parent waits for all"},
    {"proc-read", proc_read_parameters, proc_read_metrics,
     "tasks pinned to CPUs wait for one go, then each opens, reads and closes /proc/cpuinfo over and over"},
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
    if (const auto* counter = find_counter(metric)) {
        // A counter can be 0 in a short run (major-faults): those are compared as differences.
        const bool can_be_zero = counter->name == "major-faults" || counter->name == "cpu-migrations";
        return {counter->name, counter->unit, counter->better, can_be_zero ? Scale::linear : Scale::log, counter->doc};
    }
    return {};
}

}  // namespace kab
