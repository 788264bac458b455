// kab list: the evaluations.
#include <unistd.h>

#include "cli/command.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "common/units.h"
#include "protocol/api/json.h"

namespace kab::cli {
namespace {

struct Options {
    bool json = false;
};

std::string took(const api::Evaluation& evaluation) {
    if (!evaluation.started_at || !evaluation.finished_at) return "-";
    return format_duration(Nanoseconds(*evaluation.finished_at - *evaluation.started_at));
}

int list(const Paths& paths, const Options& options) {
    auto source = open_source(paths);
    auto evaluations = source ? (*source)->evaluations() : Result<std::vector<api::Evaluation>>(pass(source));
    // A fresh machine is no fault.
    if (!source && source.error().fault == Fault::not_found) evaluations = std::vector<api::Evaluation>();
    if (!evaluations) return complain(evaluations.error());
    if (options.json) return print_or_complain(dump_json(api::list_to_json("evaluations", *evaluations)) + "\n");
    TextTable table{{"EVALUATION", "EXPERIMENT", "STATUS", "VERDICT", "CREATED (UTC)", "TOOK"}, {}, {}, 1};
    for (const auto& evaluation : *evaluations)
        table.rows.push_back({evaluation.uid, evaluation.experiment, evaluation.status,
                              evaluation.verdict.empty() ? Cell() : Cell(evaluation.verdict),
                              format_minute(evaluation.created_at), took(evaluation)});
    return print_or_complain(format_table(table, terminal_width(STDOUT_FILENO)));
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("list", "List the evaluations, newest first");
    command->add_flag("--json", options->json, "as GET /v1/evaluations answers");
    command->callback([&action, options] { action = [options](const Paths& paths) { return list(paths, *options); }; });
}

}  // namespace kab::cli
