#include "cli/earlier.h"

#include <algorithm>

#include "daemon/plan/plan.h"
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

std::optional<BootTime> time_of(const store::Store& store, const std::string& evaluation, bool with_runs) {
    const auto boots = store.boots(evaluation);
    if (!boots) return std::nullopt;
    BootTime time;
    time.evaluation = evaluation;
    time.without_runs = !with_runs;
    double sum = 0;
    for (const auto& boot : *boots) {
        if (boot.outcome != "ok" || boot.block_status != "complete" || boot.block == check_block) continue;
        ++time.boots;
        sum += static_cast<double>(boot.setup_ns + boot.hello_ns + (with_runs ? boot.work_ns : 0) + boot.teardown_ns);
        time.host = boot.host;
        time.accel = boot.accel;
    }
    if (time.boots == 0) return std::nullopt;
    time.mean = Nanoseconds(static_cast<std::int64_t>(sum / time.boots));
    return time;
}

Result<Earlier> find_in(const store::Store& store, const Wanted& wanted) {
    const auto found = store.find_evaluation(wanted.from);
    if (!found) return pass(found);
    const auto report = report::gather(store, found->uid);
    if (!report) return pass(report);
    Earlier earlier{spread_of(*report, wanted.workload, wanted.metric), time_of(store, found->uid, true)};
    if (earlier.spread) return earlier;
    return fail(Fault::not_found,
                "evaluation {} does not tell how {}/{} varies: it takes 2 blocks with values of every arm", found->uid,
                wanted.workload, wanted.metric);
}

/// How long boots of such kernels on such a machine took in another experiment.
Result<std::optional<BootTime>> time_elsewhere(const store::Store& store, const Wanted& wanted,
                                               const std::vector<store::EvaluationRow>& evaluations) {
    for (const auto& evaluation : evaluations) {
        if (evaluation.experiment == wanted.experiment) continue;
        const auto whole = store.find_evaluation(evaluation.uid);
        if (!whole) return pass(whole);
        const auto json = parse_json(whole->experiment_json);
        if (!json) continue;  // of a kab that wrote it otherwise
        const auto machines = machines_of(*json);
        const bool shared = std::any_of(machines.begin(), machines.end(), [&](const std::string& machine) {
            return std::find(wanted.machines.begin(), wanted.machines.end(), machine) != wanted.machines.end();
        });
        if (!shared) continue;
        if (auto time = time_of(store, evaluation.uid, false)) return time;
    }
    return std::optional<BootTime>();
}

}  // namespace

std::vector<std::string> machines_of(const Json& experiment) {
    std::vector<std::string> machines;
    if (!experiment.contains("arms") || !experiment.contains("host")) return machines;
    for (const auto& arm : experiment.at("arms")) {
        Json machine{{"host", experiment.at("host")}};
        for (const char* key : {"source", "base", "config"})
            if (arm.contains(key)) machine[key] = arm.at(key);
        machines.push_back(dump_json(machine));
    }
    return machines;
}

Result<Earlier> find_earlier(const store::Store& store, const Wanted& wanted) {
    if (!wanted.from.empty()) return find_in(store, wanted);
    const auto evaluations = store.evaluations();
    if (!evaluations) return pass(evaluations);
    Earlier earlier;
    for (const auto& evaluation : *evaluations) {
        if (evaluation.experiment != wanted.experiment) continue;
        const auto report = report::gather(store, evaluation.uid);
        if (!report) return pass(report);
        if (!earlier.spread) earlier.spread = spread_of(*report, wanted.workload, wanted.metric);
        if (!earlier.time) earlier.time = time_of(store, evaluation.uid, true);
        if (earlier.spread && earlier.time) break;
    }
    if (earlier.time) return earlier;
    auto time = time_elsewhere(store, wanted, *evaluations);
    if (!time) return pass(time);
    earlier.time = std::move(*time);
    return earlier;
}

}  // namespace kab::cli
