#pragma once
// What every workload and counter is called, takes and measures: the words shared by the spec
// (which checks them), the agent (which carries them out), the store and the report.
// A new workload is one file in agent/guest/workloads and one entry here.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kab {

enum class Better { lower, higher, neither };
enum class Scale { log, linear };  ///< log: positive, compared as ratios; linear: differences

const char* to_string(Better better);
const char* to_string(Scale scale);

struct MetricInfo {
    std::string_view name;  ///< "elapsed"
    std::string_view unit;  ///< "ns" for all times, "1" for counts
    Better better = Better::lower;
    Scale scale = Scale::log;
    std::string_view doc;
};

struct ParameterInfo {
    std::string_view name;
    std::int64_t fallback = 0;  ///< the value where the spec is silent
    std::int64_t least = 0, most = 0;
    std::string_view doc;
    bool runnable = false;  ///< it counts tasks that want a CPU each: with more than CPUs a point is oversubscribed
};

struct WorkloadInfo {
    std::string_view name;  ///< "ipcns-exit"
    std::span<const ParameterInfo> parameters;
    std::span<const MetricInfo> metrics;  ///< the first is the default primary; none of a check
    std::string_view doc;
    bool check = false;        ///< a self-check: named under `checks:`, never timed
    bool needs_shell = false;  ///< kab-host packs a shell (busybox) into the initramfs
};

/// A perf event that can be named under `counters:`.
struct CounterInfo {
    std::string_view name;  ///< "task-clock", as perf(1) names it
    std::string_view unit;
    Better better = Better::lower;
    bool hardware = false;
    std::string_view doc;
};

std::span<const WorkloadInfo> workloads();
std::span<const CounterInfo> counters();
/// nullptr when there is none of that name.
const WorkloadInfo* find_workload(std::string_view name);
const CounterInfo* find_counter(std::string_view name);

/// Metrics that every counter iteration carries beside its counters: "counted-elapsed", "machine-busy", "drain-busy".
std::span<const MetricInfo> counter_run_metrics();

/// Metrics that every timed iteration carries in exact mode beside the workload's own: "busy", "idle".
std::span<const MetricInfo> exact_run_metrics();
bool is_exact_metric(std::string_view name);

/// Metrics that every profiled iteration carries beside the shares of its groups: "profile-samples".
std::span<const MetricInfo> profile_run_metrics();

/// Before the name of a group of `profile:`: its share of the samples of a profiled iteration is a metric.
inline constexpr std::string_view share_prefix = "share:";

/// The metric of a workload by name, be it the workload's own, a counter, a counter-run metric or a profile's share.
/// Fills a MetricInfo by value; name empty when unknown. The name of a share is the prefix alone, as groups are no
/// part of the catalog.
MetricInfo find_metric(std::string_view workload, std::string_view metric);

}  // namespace kab
