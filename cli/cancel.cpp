// kab cancel ID: end an evaluation.
#include "cli/client.h"
#include "cli/command.h"
#include "cli/daemon_start.h"
#include "cli/source.h"

namespace kab::cli {
namespace {

int cancel(const Paths& paths, const std::string& id) {
    auto source = open_source(paths);
    if (!source) return complain(source.error());
    const auto detail = (*source)->evaluation(id);
    if (!detail) return complain(detail.error());
    const auto& evaluation = detail->evaluation;
    if (evaluation.ended())
        return complain({Fault::usage, fmt::format("has already ended: {}", evaluation.status), evaluation.uid});
    const Client client(paths.socket());
    // Without a daemon nothing runs, but the next one would take it up again: only a daemon can end it for good.
    if (!client.version())
        if (auto daemon = ensure_daemon(paths); !daemon) return complain(daemon.error());
    if (auto asked = client.cancel(evaluation.uid); !asked) return complain(asked.error());
    return print_or_complain(fmt::format("{} is being cancelled\n", evaluation.uid));
}

}  // namespace

void add_cancel(CLI::App& app, Action& action) {
    auto id = std::make_shared<std::string>();
    auto* command = app.add_subcommand("cancel", "Cancel an evaluation that is queued or runs");
    command->add_option("ID", *id, "the evaluation")->required();
    command->callback([&action, id] { action = [id](const Paths& paths) { return cancel(paths, *id); }; });
}

}  // namespace kab::cli
