// kab watch ID: take up an evaluation that runs.
#include "cli/command.h"
#include "cli/follow.h"
#include "cli/report_format.h"

namespace kab::cli {
namespace {

struct Options {
    std::string id = "last";
    FollowOptions follow;
};

}  // namespace

void add_watch(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("watch", "Show an evaluation's progress until its end, then report");
    command->add_option("ID", options->id, "the evaluation")->capture_default_str();
    add_follow_options(*command, options->follow);
    command->footer("Ctrl-C ends the watching, not the evaluation.");
    command->callback([&action, options] {
        action = [options](const Paths& paths) {
            return follow_and_report(paths, options->id, options->follow, false);
        };
    });
}

}  // namespace kab::cli
