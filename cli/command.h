#pragma once
// What a command is: a subcommand of CLI11 and the action that is chosen when it is given.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <functional>
#include <optional>

#include "common/paths.h"
#include "common/result.h"
#include "protocol/api/types.h"

namespace kab::cli {

/// The exit codes of kab (kab(1)).
enum Exit : int {
    exit_ok = 0,  ///< done, and nothing regressed
    exit_regressed = 1,
    exit_usage = 2,         ///< wrong arguments or a wrong experiment
    exit_fault = 3,         ///< build, host, daemon, disk
    exit_inconclusive = 4,  ///< inconclusive or invalid
    exit_cancelled = 130,
};

/// Runs the command; its exit code.
using Action = std::function<int(const Paths&)>;

void add_check(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);
void add_submit(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_watch(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_history(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_cancel(CLI::App& app, Action& action);
void add_query(CLI::App& app, Action& action);
void add_hosts(CLI::App& app, Action& action);
void add_kernels(CLI::App& app, Action& action);
void add_version(CLI::App& app, Action& action);

/// "--json": the same as `format`, the option of `value`, given as json.
void add_json_format(CLI::App& command, CLI::Option* format, std::string& value);
/// "ID": which evaluation.
CLI::Option* add_evaluation_id(CLI::App& command, std::string& id);
/// "--seed N": the seed of everything random, in place of the experiment's.
void add_seed(CLI::App& command, std::optional<std::uint64_t>& seed);

/// Prints "kab: <error>" on stderr; the exit code that belongs to it.
int complain(const Error& error);
int exit_code(Fault fault);
/// What an evaluation came to. It must have ended.
int exit_code(const api::EvaluationDetail& detail);

/// Writes to stdout; the last thing a command does. exit_ok, or exit_fault after a complaint (a full disk). When the
/// reader went away (`| head`) SIGPIPE ends kab, as it ends cat.
int print_or_complain(const std::string& text);

}  // namespace kab::cli
