#include "cli/earlier.h"

#include <algorithm>
#include <cmath>

#include "common/score.h"
#include "daemon/history/extract.h"
#include "daemon/plan/plan.h"
#include "daemon/report/report.h"
#include "daemon/stats/cells.h"
#include "daemon/stats/components.h"

namespace kab::cli {
namespace {

/// A quantile is not made of runs that each add their share: what is left of the boots' scores, once their blocks and
/// arms are taken out, is all that can be told.
std::optional<double> variance_of_scores(const stats::Cells& cells, int series) {
    static constexpr int only = 0;
    std::vector<stats::BootValues> boots;
    for (const auto& cell : cells.of(series))
        if (cell.state == stats::Cell::State::ok)
            boots.push_back({cell.block, cell.arm, std::span(&cell.score, 1), std::span(&only, 1)});
    return stats::variance_components(boots).boot;
}

struct Variances {
    std::optional<double> boot, iteration;
};

Variances variances_of(const report::ReportInput& report, const stats::Cells& cells, int series) {
    if (report.input.series[static_cast<std::size_t>(series)].quantile)
        return {variance_of_scores(cells, series), std::nullopt};
    for (const auto& one : report.output.components)
        if (one.series == series) return {one.boot, one.iteration};
    return {};
}

/// Of the primary; the error says why the evaluation does not tell it.
Result<Spread> spread_of(const report::ReportInput& report, const Wanted& wanted) {
    Spread spread;
    spread.evaluation = report.tree.evaluation.uid;
    spread.blocks = report.output.blocks;
    if (report.input.design.exact != wanted.exact)
        return fail(Fault::not_found,
                    "evaluation {} was {} in exact mode, this experiment is{}: other things vary there",
                    spread.evaluation, wanted.exact ? "not measured" : "measured", wanted.exact ? "" : " not");
    const auto experiment = parse_json(report.tree.evaluation.experiment_json);
    if (experiment && history::share_of_kernel(*experiment, wanted.workload, wanted.metric) != wanted.of_kernel)
        return fail(Fault::not_found, "evaluation {} has {}/{} of {} samples, this experiment has it of {}",
                    spread.evaluation, wanted.workload, wanted.metric, wanted.of_kernel ? "all" : "the kernel's",
                    wanted.of_kernel ? "the kernel's" : "all");
    const stats::Cells cells(report.input);
    double boot = 0, iteration = 0;
    int with_iterations = 0;
    for (std::size_t s = 0; s < report.input.series.size(); ++s) {
        const auto& series = report.input.series[s];
        if (series.workload != wanted.workload || series.metric != wanted.metric) continue;
        if (series.quantile != wanted.quantile)
            return fail(Fault::not_found,
                        "evaluation {} judged boots by the {} of {}/{}, this experiment does by the {}",
                        spread.evaluation, score_word(series.quantile), wanted.workload, wanted.metric,
                        score_word(wanted.quantile));
        const auto one = variances_of(report, cells, static_cast<int>(s));
        if (!one.boot || !std::isfinite(*one.boot)) continue;
        ++spread.points;
        // A boot may have lost one.
        for (const auto& cell : cells.of(static_cast<int>(s)))
            spread.iterations = std::max(spread.iterations, static_cast<int>(cell.size));
        boot += *one.boot;
        iteration += one.iteration.value_or(0);
        with_iterations += one.iteration ? 1 : 0;
    }
    if (spread.points == 0)
        return fail(Fault::not_found,
                    "evaluation {} does not tell how {}/{} varies: it takes 2 blocks with values of every arm",
                    spread.evaluation, wanted.workload, wanted.metric);
    spread.boot = boot / spread.points;
    if (with_iterations == spread.points) spread.iteration = iteration / spread.points;
    return spread;
}

/// Whether an evaluation is at fault, of a kab that wrote it otherwise, and not the database or its disk.
bool of_the_evaluation(const Error& error) {
    return error.fault == Fault::internal || error.fault == Fault::not_found;
}

Result<std::optional<BootTime>> time_of(const store::Store& store, const std::string& evaluation, bool with_runs) {
    const auto boots = store.boots(evaluation);
    if (!boots) return pass(boots);
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
    if (time.boots == 0) return std::optional<BootTime>();
    time.mean = Nanoseconds(static_cast<std::int64_t>(sum / time.boots));
    return std::optional(time);
}

Result<Earlier> find_in(const store::Store& store, const Wanted& wanted) {
    const auto found = store.find_evaluation(wanted.from);
    if (!found) return pass(found);
    const auto report = report::gather(store, found->uid);
    if (!report) return pass(report);
    const auto spread = spread_of(*report, wanted);
    if (!spread) return pass(spread);
    auto time = time_of(store, found->uid, true);
    if (!time) return pass(time);
    return Earlier{*spread, std::move(*time)};
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
        auto time = time_of(store, evaluation.uid, false);
        if (!time || *time) return time;
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
        if (!earlier.spread) {
            // One of a kab that wrote it otherwise tells nothing; an older one may.
            const auto report = report::gather(store, evaluation.uid);
            if (!report && !of_the_evaluation(report.error())) return pass(report);
            const auto spread = report ? spread_of(*report, wanted) : Result<Spread>(pass(report));
            if (spread) earlier.spread = *spread;
        }
        if (!earlier.time) {
            auto time = time_of(store, evaluation.uid, true);
            if (!time) return pass(time);
            earlier.time = std::move(*time);
        }
        if (earlier.spread && earlier.time) break;
    }
    if (earlier.time) return earlier;
    auto time = time_elsewhere(store, wanted, *evaluations);
    if (!time) return pass(time);
    earlier.time = std::move(*time);
    return earlier;
}

}  // namespace kab::cli
