// kab submit FILE: hand it over and go.
#include "cli/command.h"
#include "cli/spec_file.h"
#include "cli/submit.h"
#include "common/json.h"

namespace kab::cli {
namespace {

struct Options {
    std::string file;
    std::optional<std::uint64_t> seed;
    bool json = false;
};

int submit(const Paths& paths, const Options& options) {
    auto spec = load_spec(paths, options.file);
    if (!spec) return exit_usage;
    if (options.seed) spec->experiment.decide.seed = options.seed;
    const auto uid = submit_spec(paths, *spec);
    if (!uid) return complain(uid.error());
    return print_or_complain((options.json ? dump_json(Json{{"uid", *uid}}) : *uid) + "\n");
}

}  // namespace

void add_submit(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("submit", "Queue an experiment, print its uid and return");
    command->add_option("FILE", options->file, "the experiment (YAML)")->required();
    add_seed(*command, options->seed);
    command->add_flag("--json", options->json, "print {\"uid\": ...}");
    command->callback(
        [&action, options] { action = [options](const Paths& paths) { return submit(paths, *options); }; });
}

}  // namespace kab::cli
