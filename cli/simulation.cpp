#include "cli/simulation.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "common/score.h"
#include "common/units.h"
#include "common/workload_catalog.h"
#include "daemon/spec/check.h"

namespace kab::cli {
namespace {

/// Of ratios where nothing is known: a quiet machine.
constexpr double assumed_sd = 0.01;

/// On the scale of the metric.
Result<Deviation> given(const std::string& text, const char* option, const Simulation& simulation) {
    const auto value = magnitude(text, option, simulation);
    if (!value) return pass(value);
    return Deviation{simulation.scale == Scale::log ? std::log1p(*value) : *value, "given"};
}

/// Whether the spread is told by none: only of the mean of ratios, in time, can anything be assumed.
Status check_known(const Simulation& simulation, const GivenSpread& given_spread, bool earlier) {
    if (simulation.quantile && !given_spread.run.empty())
        return fail(
            Fault::usage,
            "--sd-run: how runs vary does not tell how the {0} of a boot's runs does: give --sd-boot alone, the "
            "spread of that {0} between boots of one kernel",
            score_word(simulation.quantile));
    const bool given = !given_spread.boot.empty() && (simulation.quantile || !given_spread.run.empty());
    const bool share = simulation.scale == Scale::log;
    if (earlier || given || (share && !simulation.exact && !simulation.quantile)) return {};
    return fail(Fault::usage,
                "nothing is known of how {}{} varies{}, as no earlier evaluation of {} has measured it so: give {}{}{}",
                simulation.quantile ? "the " + score_word(simulation.quantile) + " of " : "", simulation.primary,
                simulation.exact ? " in exact mode" : "", simulation.experiment,
                simulation.quantile ? "--sd-boot" : "--sd-boot and --sd-run", share ? "" : " in its unit",
                simulation.exact && !simulation.quantile ? " (0 for what does not vary)" : "");
}

/// How often its runs are made in a boot at each point: those with counters and with a profile are counted apart.
int iterations_of(const WorkloadSpec& spec, const std::string& metric) {
    const auto counted = counter_run_metrics();
    const auto named = [&](const MetricInfo& info) { return info.name == metric; };
    if (find_counter(metric) != nullptr || std::any_of(counted.begin(), counted.end(), named))
        return spec.counter_iterations;
    return metric.starts_with(share_prefix) && spec.profile ? spec.profile->iterations : spec.iterations;
}

}  // namespace

Simulation start(const Plan& plan) {
    const auto& experiment = plan.experiment;
    const auto& decide = experiment.decide;
    Simulation simulation;
    simulation.experiment = experiment.name;
    simulation.primary = decide.primary;
    const auto slash = decide.primary.find('/');
    const std::string workload = decide.primary.substr(0, slash), metric = decide.primary.substr(slash + 1);
    const auto info = find_metric(experiment.workloads, decide.primary);
    simulation.unit = info.unit;
    simulation.scale = info.scale;
    simulation.better = info.better;
    simulation.arms = static_cast<int>(block_order(plan, 1).size());
    for (const auto& one : experiment.workloads) {
        if (one.workload != workload) continue;
        simulation.iterations = iterations_of(one, metric);
        simulation.points = decide.at.empty() ? static_cast<int>(one.points().size()) : 1;
        simulation.quantile = one.quantile;
    }
    simulation.exact = experiment.host.exact;
    auto& input = simulation.input;
    input.design.alpha = decide.alpha;
    input.design.margin = decide.margin;
    input.design.looks = plan.looks;
    input.design.fixed = decide.fixed.has_value();
    input.scale = info.scale;
    input.comparisons = 0;
    for (const auto& arm : plan.arms) input.comparisons += arm.role == Role::measured && !arm.against.empty() ? 1 : 0;
    return simulation;
}

Result<double> magnitude(const std::string& text, const char* option, const Simulation& simulation) {
    const auto value = parse_share(text);
    const bool share = simulation.scale == Scale::log;
    if (!value || (!share && text.ends_with('%')))
        return fail(Fault::usage, "{}: expected {}, not '{}'", option,
                    share ? std::string("a share such as 2%")
                          : fmt::format("a number in {}", simulation.unit == "1" ? "counts" : simulation.unit),
                    text);
    return *value;
}

Status set_spread(Simulation& simulation, const GivenSpread& given_spread, const std::optional<Spread>& earlier) {
    if (auto known = check_known(simulation, given_spread, earlier.has_value()); !known) return known;
    const std::string source =
        earlier ? fmt::format("evaluation {}, {} blocks", earlier->evaluation, earlier->blocks) : "assumed";
    simulation.boot = {earlier ? std::sqrt(earlier->boot) : std::log1p(assumed_sd), source};
    simulation.run = {earlier ? std::sqrt(earlier->iteration.value_or(0)) : std::log1p(assumed_sd), source};
    simulation.together = simulation.quantile || (earlier && !earlier->iteration && given_spread.run.empty());
    for (const auto& [text, option, into] : {std::tuple(&given_spread.boot, "--sd-boot", &simulation.boot),
                                             std::tuple(&given_spread.run, "--sd-run", &simulation.run)}) {
        if (text->empty()) continue;
        auto value = given(*text, option, simulation);
        if (!value) return pass(value);
        *into = std::move(*value);
    }
    if (simulation.quantile) simulation.run = {0, simulation.boot.source};
    const bool carried = simulation.together && earlier && given_spread.boot.empty();
    simulation.other_iterations = carried && earlier->iterations != simulation.iterations ? earlier->iterations : 0;
    const double boot = simulation.boot.sd * simulation.boot.sd, run = simulation.run.sd * simulation.run.sd;
    simulation.input.sd = stats::sd_of_difference(boot, run, simulation.iterations * simulation.points);
    if (!(simulation.input.sd > 0))
        return fail(Fault::usage,
                    "boots that do not vary at all need no simulation: the first look shows any difference");
    return {};
}

}  // namespace kab::cli
