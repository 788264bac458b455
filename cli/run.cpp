// kab run FILE: submit, watch, report.
#include "cli/command.h"
#include "cli/follow.h"
#include "cli/help.h"
#include "cli/report_format.h"
#include "cli/spec_file.h"
#include "cli/submit.h"

namespace kab::cli {
namespace {

struct Options {
    std::string file;
    std::optional<std::uint64_t> seed;
    FollowOptions follow;
};

int run(const Paths& paths, const Options& options) {
    auto spec = load_spec(paths, options.file);
    if (!spec) return exit_usage;
    if (options.seed) spec->experiment.decide.seed = options.seed;
    note_interrupts();
    const auto uid = submit_spec(paths, *spec);
    if (!uid) return complain(uid.error());
    if (!options.follow.quiet) fmt::print(stderr, "kab: evaluation {} of {}\n", *uid, spec->experiment.name);
    return follow_and_report(paths, *uid, options.follow, true);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("run", "Run an experiment and report what it found");
    command->add_option("FILE", options->file, "the experiment (YAML)")->required();
    add_seed(*command, options->seed);
    add_follow_options(*command, options->follow);
    command->footer(
        std::string("Progress goes to stderr, the report to stdout. Ctrl-C cancels the evaluation and waits until "
                    "nothing of it runs any more; a lost terminal does not: `kab watch ID` takes it up again.\n") +
        verdict_exit_codes);
    command->callback([&action, options] { action = [options](const Paths& paths) { return run(paths, *options); }; });
}

}  // namespace kab::cli
