#include "daemon/report/costs.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace kab::report {
namespace {

/// Of the boots whose samples count.
struct Runs {
    double all = 0, of_primary = 0;
};

Runs count_runs(const ReportInput& report) {
    Runs runs;
    const auto primary = [&](const store::SampleRow& sample) {
        return std::any_of(report.input.series.begin(), report.input.series.end(), [&](const stats::Series& series) {
            return series.primary && series.workload == sample.workload && series.metric == sample.metric;
        });
    };
    // Every run of a boot that counts has one sample of each of its metrics.
    std::set<std::tuple<std::int64_t, std::string, std::int64_t>> seen;
    for (const auto& sample : report.samples) {
        runs.all += seen.emplace(sample.block, sample.arm, sample.seq).second ? 1 : 0;
        runs.of_primary += !sample.warmup && primary(sample) ? 1 : 0;
    }
    return runs;
}

/// Of the primary's workload.
double points(const ReportInput& report) {
    for (const auto& series : report.input.series)
        if (series.primary)
            return static_cast<double>(
                std::count_if(report.tree.points.begin(), report.tree.points.end(),
                              [&](const auto& point) { return point.workload == series.workload; }));
    return 0;
}

}  // namespace

Costs measured_costs(const ReportInput& report) {
    double boots = 0, counted = 0, around = 0, work = 0;
    for (const auto& boot : report.boots) {
        if (boot.outcome != "ok") continue;
        ++boots;
        around += static_cast<double>(boot.setup_ns + boot.hello_ns + boot.teardown_ns);
        if (boot.block_status != "complete") continue;
        ++counted;
        work += static_cast<double>(boot.work_ns);
    }
    const Runs runs = count_runs(report);
    if (counted == 0 || runs.all == 0) return {};
    const double run = work / runs.all;
    return {around / boots + (runs.all - runs.of_primary) / counted * run, points(report) * run};
}

}  // namespace kab::report
