// kab report ID: the report of an evaluation, from the database.
#include "cli/command.h"
#include "cli/help.h"
#include "cli/report_format.h"

namespace kab::cli {
namespace {

struct Options {
    std::string id = "last", format = "text";
};

int report(const Paths& paths, const Options& options) {
    const auto text = render_report(paths, options.id, options.format);
    return text ? print_or_complain(*text) : complain(text.error());
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("report", "Print the report of an evaluation, finished or not");
    add_evaluation_id(*command, options->id)->capture_default_str();
    add_report_format(*command, options->format);
    command->footer(reading_exit_codes);
    command->callback(
        [&action, options] { action = [options](const Paths& paths) { return report(paths, *options); }; });
}

}  // namespace kab::cli
