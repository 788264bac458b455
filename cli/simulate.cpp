// kab simulate FILE: before any boot, how the evaluation would likely go.
#include <cmath>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/simulate_report.h"
#include "cli/source.h"
#include "cli/spec_file.h"
#include "common/score.h"
#include "common/units.h"
#include "daemon/plan/plan.h"
#include "daemon/spec/check.h"
#include "daemon/spec/experiment_json.h"

namespace kab::cli {
namespace {

struct Options {
    std::string file, sd_boot, sd_run, from, format = "text";
    std::vector<std::string> effects;
    std::optional<std::uint64_t> seed;
    int evaluations = 2000;
};

/// Of ratios where nothing is known: a quiet machine.
constexpr double assumed_sd = 0.01;

constexpr const char* footer =
    "Effects and spreads are shares (2%) for metrics compared by ratio, else numbers in the metric's unit. Spread and "
    "time "
    "come from the newest evaluation of the same experiment that has them, from --from, or from the options; the "
    "output says "
    "from where. Examples: docs/simulate.md.\n"
    "Exit codes: 0 done, 2 wrong usage or experiment, 3 a fault of kab's own.";

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

/// On the scale of the metric.
Result<Deviation> given(const std::string& text, const char* option, const Simulation& simulation) {
    const auto value = magnitude(text, option, simulation);
    if (!value) return pass(value);
    return Deviation{simulation.scale == Scale::log ? std::log1p(*value) : *value, "given"};
}

/// Whether the spread is told by none: only of the mean of ratios, in time, can anything be assumed.
Status check_known(const Simulation& simulation, const Options& options, bool earlier) {
    if (simulation.quantile && !options.sd_run.empty())
        return fail(
            Fault::usage,
            "--sd-run: how runs vary does not tell how the {0} of a boot's runs does: give --sd-boot alone, the "
            "spread of that {0} between boots of one kernel",
            score_word(simulation.quantile));
    const bool given = !options.sd_boot.empty() && (simulation.quantile || !options.sd_run.empty());
    const bool share = simulation.scale == Scale::log;
    if (earlier || given || (share && !simulation.exact && !simulation.quantile)) return {};
    return fail(Fault::usage,
                "nothing is known of how {}{} varies{}, as no earlier evaluation of {} has measured it so: give {}{}{}",
                simulation.quantile ? "the " + score_word(simulation.quantile) + " of " : "", simulation.primary,
                simulation.exact ? " in exact mode" : "", simulation.experiment,
                simulation.quantile ? "--sd-boot" : "--sd-boot and --sd-run", share ? "" : " in its unit",
                simulation.exact && !simulation.quantile ? " (0 for what does not vary)" : "");
}

Status set_spread(Simulation& simulation, const Options& options, const std::optional<Spread>& earlier) {
    if (auto known = check_known(simulation, options, earlier.has_value()); !known) return known;
    const std::string source =
        earlier ? fmt::format("evaluation {}, {} blocks", earlier->evaluation, earlier->blocks) : "assumed";
    simulation.boot = {earlier ? std::sqrt(earlier->boot) : std::log1p(assumed_sd), source};
    simulation.run = {earlier ? std::sqrt(earlier->iteration.value_or(0)) : std::log1p(assumed_sd), source};
    simulation.together = simulation.quantile || (earlier && !earlier->iteration && options.sd_run.empty());
    for (const auto& [text, option, into] : {std::tuple(&options.sd_boot, "--sd-boot", &simulation.boot),
                                             std::tuple(&options.sd_run, "--sd-run", &simulation.run)}) {
        if (text->empty()) continue;
        auto value = given(*text, option, simulation);
        if (!value) return pass(value);
        *into = std::move(*value);
    }
    if (simulation.quantile) simulation.run = {0, simulation.boot.source};
    const double boot = simulation.boot.sd * simulation.boot.sd, run = simulation.run.sd * simulation.run.sd;
    simulation.input.sd = stats::sd_of_difference(boot, run, simulation.iterations * simulation.points);
    if (!(simulation.input.sd > 0))
        return fail(Fault::usage,
                    "boots that do not vary at all need no simulation: the first look shows any difference");
    return {};
}

Status set_effects(Simulation& simulation, const Options& options) {
    std::vector<double> effects{0};
    const double margin = simulation.input.design.margin;
    if (options.effects.empty() && margin > 0) effects.insert(effects.end(), {margin, 2 * margin});
    for (const auto& text : options.effects) {
        const auto effect = magnitude(text, "--effect", simulation);
        if (!effect) return pass(effect);
        if (*effect > 0) effects.push_back(*effect);
    }
    for (const double effect : effects) {
        auto input = simulation.input;
        input.effect = effect;
        simulation.cases.push_back({effect, stats::forecast(input)});
    }
    return {};
}

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
        simulation.iterations = find_counter(metric) != nullptr                   ? one.counter_iterations
                                : metric.starts_with(share_prefix) && one.profile ? one.profile->iterations
                                                                                  : one.iterations;
        simulation.points = static_cast<int>(one.points().size());
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

/// Without a database nothing is known of earlier boots.
Result<Earlier> ask_database(const Paths& paths, const Options& options, const Experiment& experiment,
                             const Simulation& simulation) {
    const auto store = open_store(paths);
    if (!store) {
        if (store.error().fault == Fault::not_found && options.from.empty()) return Earlier{};
        return pass(store);
    }
    const auto& primary = experiment.decide.primary;
    const auto slash = primary.find('/');
    return find_earlier(**store, {options.from, experiment.name, primary.substr(0, slash), primary.substr(slash + 1),
                                  machines_of(to_json(experiment)), simulation.quantile, simulation.exact});
}

int simulate(const Paths& paths, const Options& options) {
    const auto spec = load_spec(paths, options.file);
    if (!spec) return exit_usage;
    const auto seed = options.seed.value_or(spec->experiment.decide.seed.value_or(1));
    auto simulation = start(make_plan(spec->experiment, seed));
    simulation.input.seed = seed;
    simulation.input.evaluations = options.evaluations;
    const auto earlier = ask_database(paths, options, spec->experiment, simulation);
    if (!earlier) return complain(earlier.error());
    simulation.time = earlier->time;
    if (const auto done = set_spread(simulation, options, earlier->spread); !done) return complain(done.error());
    if (const auto done = set_effects(simulation, options); !done) return complain(done.error());
    return print_or_complain(options.format == "json"       ? simulate_json(simulation)
                             : options.format == "markdown" ? report::to_markdown(simulate_document(simulation))
                                                            : report::to_text(simulate_document(simulation)));
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("simulate", "Tell how an experiment would likely go, before any boot");
    command->add_option("FILE", options->file, "the experiment (YAML)")->required();
    command
        ->add_option("--effect", options->effects,
                     "a true difference; may be repeated (default: the margin and twice the margin). None at all is "
                     "always simulated")
        ->allow_extra_args(false)
        ->type_name("SIZE");
    command->add_option("--sd-boot", options->sd_boot, "spread between boots of one kernel")->type_name("SIZE");
    command->add_option("--sd-run", options->sd_run, "spread between the runs of one boot")->type_name("SIZE");
    command
        ->add_option("--from", options->from,
                     "the evaluation to take spread and times from (default: the newest of the "
                     "same experiment that has them; times else of such kernels in another experiment)")
        ->type_name("ID");
    command->add_option("--evaluations", options->evaluations, "how many to simulate for each effect")
        ->check(CLI::Range(100, 100000))
        ->type_name("N")
        ->capture_default_str();
    add_seed(*command, options->seed);
    auto* format = command->add_option("--format", options->format, "of the output")
                       ->check(CLI::IsMember({"text", "markdown", "json"}))
                       ->type_name("FORMAT")
                       ->capture_default_str();
    add_json_format(*command, format, options->format);
    command->footer(footer);
    command->callback(
        [&action, options] { action = [options](const Paths& paths) { return simulate(paths, *options); }; });
}

}  // namespace kab::cli
