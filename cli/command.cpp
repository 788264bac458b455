#include "cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>

#include "daemon/plan/plan.h"

namespace kab::cli {
namespace {

/// CLI11 itself would take -1 for the largest number. Empty when it is right.
std::string check_seed(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return {};
    return fmt::format("expected a whole number from 0 to {}, not '{}'", UINT64_MAX, text);
}

}  // namespace

void add_json_format(CLI::App& command, CLI::Option* format, std::string& value) {
    command
        .add_flag_callback(
            "--json", [&value] { value = "json"; }, "the same as --format json")
        ->excludes(format);
}

CLI::Option* add_evaluation_id(CLI::App& command, std::string& id) {
    return command.add_option("ID", id,
                              "the evaluation: its uid, a beginning of it (4 characters or more), an experiment's name "
                              "(its newest evaluation), or last");
}

void add_seed(CLI::App& command, std::optional<std::uint64_t>& seed) {
    command.add_option("--seed", seed, "seed of everything random (default: decide.seed in FILE, else drawn anew)")
        ->check(CLI::Validator(check_seed, "", "seed"))
        ->type_name("N");
}

int complain(const Error& error) {
    fmt::print(stderr, "kab: {}\n", error.text());
    return exit_code(error.fault);
}

int exit_code(Fault fault) {
    switch (fault) {
        case Fault::usage:
        case Fault::spec:
        case Fault::not_found: return exit_usage;
        case Fault::cancelled: return exit_cancelled;
        default: return exit_fault;
    }
}

int exit_code(const api::EvaluationDetail& detail) {
    const auto& evaluation = detail.evaluation;
    if (evaluation.status == "cancelled") return exit_cancelled;
    const bool by_user = evaluation.fault == to_string(Fault::spec) || evaluation.fault == to_string(Fault::not_found);
    if (evaluation.status != "done") return by_user ? exit_usage : exit_fault;
    if (evaluation.verdict == "regressed") return exit_regressed;
    // An arm that could not be built is missing from the verdict.
    // The relinked one is no question: it shows what placement does, if it can be had.
    const auto failed = [](const api::Arm& arm) { return arm.status == "failed" && arm.name != relinked_arm; };
    if (std::any_of(detail.arms.begin(), detail.arms.end(), failed)) return exit_fault;
    if (evaluation.verdict == "improved" || evaluation.verdict == "equivalent") return exit_ok;
    return exit_inconclusive;
}

int print_or_complain(const std::string& text) {
    std::signal(SIGPIPE, SIG_DFL);
    auto written = write_all(STDOUT_FILENO, text);
    if (written) return exit_ok;
    written.error().where = "standard output";
    return complain(written.error());
}

}  // namespace kab::cli
