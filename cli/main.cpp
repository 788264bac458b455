// kab: parses the command line and runs the command.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "cli/command.h"
#include "cli/help.h"
#include "common/suggest.h"

namespace {

constexpr const char* footer =
    "Exit codes: 0 done, 2 wrong usage or experiment, 3 a fault of kab's own (build, host, daemon). Of run, watch and "
    "compare 0 says that nothing regressed, 1 that something did, 4 inconclusive or invalid, 130 cancelled.\n"
    "State: $KAB_STATE_DIR or ~/.local/state/kab. Manual: kab(1).";

/// The first word that is no option, if no command is called so.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
    std::string word = argc > 1 ? argv[1] : "";
    if (word.empty() || word.front() == '-') return {};
    for (const auto* command : app.get_subcommands({}))
        if (command->get_name() == word) return {};
    return word;
}

int complain_of_command(const CLI::App& app, const std::string& word) {
    std::vector<std::string> names;
    for (const auto* command : app.get_subcommands({})) names.push_back(command->get_name());
    const auto near = kab::suggest(word, names);
    return kab::cli::complain({kab::Fault::usage,
                               fmt::format("there is no command '{}'{}; `kab --help` lists them", word,
                                           near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)),
                               {}});
}

/// In one line, and where to look. CLI11's own exit codes mean nothing to kab's users.
int complain_of_arguments(const CLI::App& app, const CLI::ParseError& error, const std::string& first) {
    const auto commands = app.get_subcommands();
    if (commands.empty() && first.empty())
        return kab::cli::complain({kab::Fault::usage, "a command is needed; `kab --help` lists them", {}});
    if (commands.empty())
        return kab::cli::complain(
            {kab::Fault::usage, fmt::format("there is no option '{}'; see `kab --help`", first), {}});
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    const auto name = commands.front()->get_name();
    return kab::cli::complain({kab::Fault::usage, fmt::format("{}; see `kab {} --help`", text, name), name});
}

/// A file opened later must not become a standard stream that was closed when kab was started.
void fill_standard_streams() {
    for (int fd = 0; fd <= 2; ++fd)
        if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) std::abort();
}

/// Fault::usage when the state directory can never be one. That it is not there yet is no fault.
kab::Status check_directory(const kab::fs::path& wanted) {
    for (auto path = wanted;; path = path.parent_path()) {
        std::error_code error;
        const auto type = kab::fs::status(path, error).type();
        if (type == kab::fs::file_type::not_found && path.has_relative_path()) continue;
        if (type == kab::fs::file_type::directory || type == kab::fs::file_type::none ||
            type == kab::fs::file_type::not_found)
            return {};
        return kab::fail(kab::Fault::usage, "the state directory cannot be {}: {} is no directory (KAB_STATE_DIR)",
                         wanted.string(), path.string());
    }
}

}  // namespace

int main(int argc, char** argv) {
    fill_standard_streams();
    std::signal(SIGPIPE, SIG_IGN);  // a daemon or pager that goes away is an error of the write
    CLI::App app{"kab: what does this kernel change do to this workload, and how sure are we?", "kab"};
    app.require_subcommand(1);
    app.set_version_flag("-V,--version", std::string("kab ") + KAB_VERSION);
    app.formatter(std::make_shared<kab::cli::HelpFormatter>());
    kab::cli::Action action;
    kab::cli::add_run(app, action);
    kab::cli::add_check(app, action);
    kab::cli::add_simulate(app, action);
    kab::cli::add_submit(app, action);
    kab::cli::add_list(app, action);
    kab::cli::add_show(app, action);
    kab::cli::add_watch(app, action);
    kab::cli::add_report(app, action);
    kab::cli::add_history(app, action);
    kab::cli::add_compare(app, action);
    kab::cli::add_cancel(app, action);
    kab::cli::add_query(app, action);
    kab::cli::add_hosts(app, action);
    kab::cli::add_kernels(app, action);
    kab::cli::add_version(app, action);
    for (auto* command : app.get_subcommands({})) command->group("Commands");
    app.footer(footer);  // last: commands inherit what is there when they are added
    if (const auto word = unknown_command(app, argc, argv); !word.empty()) return complain_of_command(app, word);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0) return complain_of_arguments(app, error, argc > 1 ? argv[1] : "");
        return app.exit(error);  // prints the help or the version
    }
    const auto paths = kab::Paths::from_environment();
    if (!paths) return kab::cli::complain(paths.error());
    if (const auto usable = check_directory(paths->state); !usable) return kab::cli::complain(usable.error());
    return action(*paths);
}
