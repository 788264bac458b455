// kab watch ID: take up an evaluation that runs.
#include "cli/command.h"
#include "cli/help.h"
#include "cli/report_format.h"
#include "cli/source.h"

namespace kab::cli {
namespace {

struct Options {
    std::string id = "last";
    FollowOptions follow;
};

/// One that has ended is in the database: no daemon is started to say so.
int watch(const Paths& paths, const Options& options) {
    auto source = open_source(paths);
    if (!source) return complain(source.error());
    const auto detail = (*source)->evaluation(options.id);
    if (!detail) return complain(detail.error());
    if (detail->evaluation.ended()) return report_end(paths, *detail, options.follow, true);
    return follow_and_report(paths, detail->evaluation.uid, options.follow, false);
}

}  // namespace

void add_watch(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("watch", "Show its progress until its end, then report");
    add_evaluation_id(*command, options->id)->capture_default_str();
    add_follow_options(*command, options->follow);
    command->footer(std::string("Ctrl-C ends the watching, not the evaluation.\n") + verdict_exit_codes);
    command->callback(
        [&action, options] { action = [options](const Paths& paths) { return watch(paths, *options); }; });
}

}  // namespace kab::cli
