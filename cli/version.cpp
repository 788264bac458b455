// kab version: this program's version, and the daemon's.
#include "cli/client.h"
#include "cli/command.h"
#include "protocol/api/json.h"

namespace kab::cli {
namespace {

int version(const Paths& paths, bool json) {
    const Client client(paths.socket());
    const auto daemon = client.version();
    if (!daemon && client.present()) return complain(daemon.error());
    if (json) {
        Json text{{"version", KAB_VERSION}, {"api", api::api_version}, {"daemon", nullptr}};
        if (daemon) text["daemon"] = api::to_json(*daemon);
        return print_or_complain(dump_json(text) + "\n");
    }
    std::string text = fmt::format("kab {} (API v{})\n", KAB_VERSION, api::api_version);
    if (daemon)
        text += fmt::format("kabd {} (API v{}, pid {}, {}, {}), state in {}\n", daemon->version, daemon->api,
                            daemon->pid, daemon->is_private ? "private" : "not started by kab",
                            daemon->idle ? "idle" : "busy", daemon->state_dir);
    else
        text += fmt::format("no daemon runs for {}\n", paths.state.string());
    return print_or_complain(text);
}

}  // namespace

void add_version(CLI::App& app, Action& action) {
    auto json = std::make_shared<bool>(false);
    auto* command = app.add_subcommand("version", "Show the versions of kab and of the daemon, if one runs");
    command->add_flag("--json", *json, "for machines");
    command->callback([&action, json] { action = [json](const Paths& paths) { return version(paths, *json); }; });
}

}  // namespace kab::cli
