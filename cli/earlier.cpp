#include "cli/earlier.h"

#include "daemon/report/report.h"

namespace kab::cli {
namespace {

std::optional<Spread> spread_of(const report::ReportInput& report, const std::string& workload,
                                const std::string& metric) {
    Spread spread;
    spread.evaluation = report.tree.evaluation.uid;
    spread.blocks = report.output.blocks;
    double boot = 0, iteration = 0;
    int with_iterations = 0;
    for (const auto& one : report.output.components) {
        const auto& series = report.input.series[static_cast<std::size_t>(one.series)];
        if (series.workload != workload || series.metric != metric || !one.boot) continue;
        ++spread.points;
        boot += *one.boot;
        iteration += one.iteration.value_or(0);
        with_iterations += one.iteration ? 1 : 0;
    }
    if (spread.points == 0) return std::nullopt;
    spread.boot = boot / spread.points;
    if (with_iterations == spread.points) spread.iteration = iteration / spread.points;
    return spread;
}

std::optional<BootTime> time_of(const report::ReportInput& report) {
    BootTime time;
    time.evaluation = report.tree.evaluation.uid;
    double sum = 0;
    for (const auto& boot : report.boots) {
        if (boot.outcome != "ok" || boot.block_status != "complete") continue;
        ++time.boots;
        sum += static_cast<double>(boot.setup_ns + boot.hello_ns + boot.work_ns + boot.teardown_ns);
        time.host = boot.host;
        time.accel = boot.accel;
    }
    if (time.boots == 0) return std::nullopt;
    time.mean = Nanoseconds(static_cast<std::int64_t>(sum / time.boots));
    return time;
}

}  // namespace

Result<Earlier> find_earlier(const store::Store& store, const std::string& from, const std::string& experiment,
                             const std::string& workload, const std::string& metric) {
    Earlier earlier;
    if (!from.empty()) {
        const auto found = store.find_evaluation(from);
        if (!found) return pass(found);
        const auto report = report::gather(store, found->uid);
        if (!report) return pass(report);
        earlier.spread = spread_of(*report, workload, metric);
        earlier.time = time_of(*report);
        if (!earlier.spread)
            return fail(Fault::not_found,
                        "evaluation {} does not tell how {}/{} varies: it takes 2 blocks with values of every arm",
                        found->uid, workload, metric);
        return earlier;
    }
    const auto evaluations = store.evaluations();
    if (!evaluations) return pass(evaluations);
    for (const auto& evaluation : *evaluations) {
        if (evaluation.experiment != experiment) continue;
        const auto report = report::gather(store, evaluation.uid);
        if (!report) return pass(report);
        if (!earlier.spread) earlier.spread = spread_of(*report, workload, metric);
        if (!earlier.time) earlier.time = time_of(*report);
        if (earlier.spread && earlier.time) break;
    }
    return earlier;
}

}  // namespace kab::cli
