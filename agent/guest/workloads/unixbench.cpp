#include "agent/guest/workloads/unixbench.h"

namespace kab::guest {
namespace {

constexpr double ns_per_second = 1e9, seconds_per_minute = 60;
constexpr double baseline_index = 10;

}  // namespace

std::optional<double> shell_baseline(std::int64_t concurrency) {
    if (concurrency == 1) return 42.4 / seconds_per_minute;
    if (concurrency == 8) return 6.0 / seconds_per_minute;
    return {};
}

std::vector<msg::Sample> unixbench_samples(std::int64_t loops, const WorkTimes& times, std::optional<double> baseline) {
    const double rate = static_cast<double>(loops) * ns_per_second / static_cast<double>(times.elapsed_ns());
    msg::Sample index;
    index.metric = "index";
    if (baseline)
        index.value = rate / *baseline * baseline_index;
    else
        index.reason = "UnixBench has no baseline for this concurrency, only for 1 and 8";
    return {sample("rate", rate), std::move(index)};
}

}  // namespace kab::guest
