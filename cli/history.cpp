// kab history EXPERIMENT: its evaluations by time, and where they change.
#include "cli/command.h"
#include "cli/history_report.h"
#include "cli/source.h"
#include "cli/terminal.h"
#include "daemon/history/gather.h"

namespace kab::cli {
namespace {

struct Options {
    std::string experiment;
    std::optional<std::string> arm, metric, point, confirm;
    bool json = false;
};

/// The experiment that would confirm the change that begins with the evaluation named by `options.confirm`.
Result<std::string> confirm(const std::vector<history::Record>& records, const std::vector<history::History>& histories,
                            const std::string& evaluation) {
    for (const auto& one : histories)
        for (const auto& series : one.series)
            for (const auto& change : series.changes) {
                if (!series.values[change.index].evaluation.starts_with(evaluation)) continue;
                for (const auto& record : records)
                    if (record.tree.evaluation.uid == series.values[change.index].evaluation)
                        return confirming_experiment(series, change, record);
            }
    return fail(Fault::usage, "no change begins with the evaluation '{}': without --confirm all of them are listed",
                evaluation);
}

Result<std::string> history_of(const Paths& paths, const Options& options) {
    const auto store = open_store(paths);
    if (!store) return pass(store);
    const auto newest = (*store)->find_evaluation(options.experiment);
    if (!newest) return pass(newest);
    const auto records = history::gather(**store, newest->experiment);
    if (!records) return pass(records);
    auto questions = history::questions(*records, newest->experiment, options.arm, options.metric, options.point);
    if (!questions) return pass(questions);
    // Nothing to ask yet: only what is left out, and why.
    if (questions->empty()) questions->push_back({newest->experiment, "", "", "", ""});
    std::vector<history::History> histories;
    for (const auto& question : *questions) histories.push_back(history::find(question, *records));
    if (options.confirm) return confirm(*records, histories, *options.confirm);
    if (options.json) return history_json(newest->experiment, histories);
    return history_text(histories, output_width());
}

int run(const Paths& paths, const Options& options) {
    const auto text = history_of(paths, options);
    return text ? print_or_complain(*text) : complain(text.error());
}

}  // namespace

void add_history(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("history", "Show an experiment's evaluations by time, and where they change");
    command->add_option("EXPERIMENT", options->experiment, "its name, or an evaluation of it")->required();
    command->add_option("--arm", options->arm, "only this arm (default: each that is measured)");
    command->add_option("--metric", options->metric, "as WORKLOAD/METRIC (default: the primary one)");
    command->add_option("--point", options->point, "of a sweep, such as tasks=4 (default: * for the mean over all)");
    auto* json = command->add_flag("--json", options->json, "everything as one JSON object");
    command
        ->add_option("--confirm", options->confirm,
                     "print the experiment that would confirm the change that begins with this evaluation")
        ->type_name("ID")
        ->excludes(json);
    command->footer(
        "Exit codes: 0 printed, whatever changed; 2 there is no such experiment, arm, metric or point; 3 a fault of "
        "kab's own.");
    command->callback([&action, options] { action = [options](const Paths& paths) { return run(paths, *options); }; });
}

}  // namespace kab::cli
