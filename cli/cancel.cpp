// kab cancel ID: end an evaluation.
#include "cli/client.h"
#include "cli/command.h"
#include "cli/daemon_start.h"
#include "cli/source.h"
#include "protocol/api/json.h"

namespace kab::cli {
namespace {

struct Options {
    std::string id;
    bool json = false;
};

int cancel(const Paths& paths, const Options& options) {
    auto source = open_source(paths);
    if (!source) return complain(source.error());
    const auto detail = (*source)->evaluation(options.id);
    if (!detail) return complain(detail.error());
    const auto& evaluation = detail->evaluation;
    if (evaluation.ended())
        return complain({Fault::usage, fmt::format("has already ended: {}", evaluation.status), evaluation.uid});
    const Client client(paths.socket());
    // Without a daemon nothing runs, but the next one would take it up again: only a daemon can end it for good.
    if (!client.version())
        if (auto daemon = ensure_daemon(paths); !daemon) return complain(daemon.error());
    if (auto asked = client.cancel(evaluation.uid); !asked) return complain(asked.error());
    if (options.json) return print_or_complain(dump_json(api::to_json(api::Submitted{evaluation.uid})) + "\n");
    return print_or_complain(fmt::format("{} is being cancelled\n", evaluation.uid));
}

}  // namespace

void add_cancel(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("cancel", "Cancel an evaluation that is queued or runs");
    add_evaluation_id(*command, options->id)->required();
    command->add_flag("--json", options->json, "print {\"uid\": ...}");
    command->footer("A daemon is started where none runs: only a daemon can end an evaluation for good.");
    command->callback(
        [&action, options] { action = [options](const Paths& paths) { return cancel(paths, *options); }; });
}

}  // namespace kab::cli
