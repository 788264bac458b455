// kab simulate FILE: before any boot, how the evaluation would likely go.
#include <cmath>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/simulation.h"
#include "cli/source.h"
#include "cli/spec_file.h"
#include "common/score.h"
#include "common/units.h"
#include "daemon/history/extract.h"
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

constexpr const char* footer =
    "Effects and spreads are shares (2%) for metrics compared by ratio, else numbers in the metric's unit. Spread and "
    "time "
    "come from the newest evaluation of the same experiment that has them, from --from, or from the options; the "
    "output says "
    "from where. Examples: docs/simulate.md.\n"
    "Exit codes: 0 done, 2 wrong usage or experiment, 3 a fault of kab's own.";

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
    const auto workload = primary.substr(0, slash), metric = primary.substr(slash + 1);
    const auto json = to_json(experiment);
    return find_earlier(**store,
                        {options.from, experiment.name, workload, metric, machines_of(json), simulation.quantile,
                         simulation.exact, history::share_of_kernel(json, workload, metric)});
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
    if (const auto done = set_spread(simulation, {options.sd_boot, options.sd_run}, earlier->spread); !done)
        return complain(done.error());
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
