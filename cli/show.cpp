// kab show ID: how an evaluation stands.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "protocol/api/json.h"

namespace kab::cli {
namespace {

constexpr std::size_t failures_shown = 10;

struct Options {
    std::string id = "last";
    bool json = false;
};

/// Lines after the first begin with `indent` spaces.
std::string lines(const std::string& line, std::size_t indent) {
    return wrap(line, output_width(), indent) + "\n";
}

std::string releases(const api::EvaluationDetail& detail) {
    std::set<std::string> all;
    for (const auto& arm : detail.arms)
        if (!arm.kernel_release.empty()) all.insert(arm.kernel_release);
    std::string text;
    for (const auto& release : all) text += (text.empty() ? "" : ", ") + release;
    return text;
}

std::string head_text(const api::EvaluationDetail& detail) {
    const auto& evaluation = detail.evaluation;
    auto text = fmt::format("{}  {}\n", evaluation.uid, evaluation.experiment);
    if (!evaluation.question.empty()) text += lines(evaluation.question, 0);
    auto status = evaluation.status;
    if (!evaluation.verdict.empty()) status += ", verdict " + evaluation.verdict;
    if (!evaluation.detail.empty()) status += ": " + evaluation.detail;
    Details details{{"status", status}, {"created", format_time(evaluation.created_at) + " UTC"}};
    if (evaluation.started_at) details.emplace_back("started", format_time(evaluation.started_at) + " UTC");
    if (evaluation.finished_at) details.emplace_back("finished", format_time(evaluation.finished_at) + " UTC");
    details.emplace_back("blocks",
                         fmt::format("{} complete, {} looks taken", detail.blocks_done, evaluation.looks_done));
    if (const auto all = releases(detail); !all.empty()) details.emplace_back("release", all);
    if (evaluation.progress) details.emplace_back("now", describe(*evaluation.progress));
    return text + format_details(details, output_width());
}

std::string arms_text(const api::EvaluationDetail& detail) {
    TextTable table{{"ARM", "AGAINST", "STATUS", "KERNEL", "CODE", "OK", "FAILED"},
                    {false, false, false, false, false, true, true},
                    {},
                    0};
    const auto cell = [](const std::string& text) { return text.empty() ? Cell() : Cell(text); };
    Details details;
    for (const auto& arm : detail.arms) {
        table.rows.push_back({arm.name, arm.control ? "(control)" : cell(arm.against), arm.status,
                              cell(arm.kernel_key.substr(0, 12)), cell(arm.code_signature.substr(0, 12)),
                              std::to_string(arm.boots_ok), std::to_string(arm.boots_failed)});
        // The control shares its baseline's kernel, a debug variant its arm's name, and both most often its fate.
        const bool derived = arm.name.find('\'') != std::string::npos;
        const bool told = derived && std::any_of(details.begin(), details.end(),
                                                 [&](const auto& row) { return row.second == arm.detail; });
        if (!arm.detail.empty() && !told) details.emplace_back(arm.name, arm.detail);
    }
    auto text = "\n" + format_table(table, terminal_width(STDOUT_FILENO));
    if (!details.empty()) text += "\n" + format_details(details, output_width());
    return text;
}

std::string blocks_text(const api::EvaluationDetail& detail) {
    std::string text;
    for (const auto& block : detail.blocks) {
        if (block.status == "complete") continue;
        text += lines(fmt::format("{}{}  {}, {} of {} boots{}{}",
                                  block.number == 0 ? "checks" : fmt::format("block {}", block.number),
                                  block.repetition > 1 ? fmt::format(".{}", block.repetition) : "", block.status,
                                  block.boots_done, block.boots, block.detail.empty() ? "" : ": ", block.detail),
                      2);
    }
    return text.empty() ? text : "\n" + text;
}

std::string failures_text(const api::EvaluationDetail& detail, const Paths& paths) {
    if (detail.failures.empty()) return {};
    std::string text = "\nfailed boots\n";
    for (std::size_t i = 0; i < detail.failures.size() && i < failures_shown; ++i) {
        const auto& failure = detail.failures[i];
        text += lines(
            fmt::format("  {}, {}: {}{}{}", failure.block == 0 ? "checks" : fmt::format("block {}", failure.block),
                        failure.arm, failure.outcome, failure.detail.empty() ? "" : ": ", failure.detail),
            4);
        if (!failure.console_path.empty())
            text += "    console  " + (paths.artifacts() / failure.console_path).string() + "\n";
    }
    if (detail.failures.size() > failures_shown)
        text += fmt::format("  and {} more (kab query \"select * from v_boot where outcome <> 'ok'\")\n",
                            detail.failures.size() - failures_shown);
    return text;
}

std::string transitions_text(const api::EvaluationDetail& detail) {
    std::string text = "\nlast changes (UTC)\n";
    // Cut: the whole of a detail stands with its arm, block or boot above.
    for (const auto& change : detail.transitions)
        text += shorten(fmt::format("  {}  {}{}: {}{}{}{}", format_time(change.at), change.object,
                                    change.object == "evaluation" ? "" : " " + change.name,
                                    change.from.empty() ? "" : change.from + " -> ", change.to,
                                    change.detail.empty() ? "" : ": ", change.detail),
                        output_width()) +
                "\n";
    return detail.transitions.empty() ? std::string() : text;
}

int show(const Paths& paths, const Options& options) {
    auto source = open_source(paths);
    if (!source) return complain(source.error());
    const auto detail = (*source)->evaluation(options.id);
    if (!detail) return complain(detail.error());
    if (options.json) return print_or_complain(dump_json(api::to_json(*detail)) + "\n");
    return print_or_complain(head_text(*detail) + arms_text(*detail) + blocks_text(*detail) +
                             failures_text(*detail, paths) + transitions_text(*detail));
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("show", "Show how an evaluation stands: arms, blocks, failures");
    add_evaluation_id(*command, options->id)->capture_default_str();
    command->add_flag("--json", options->json, "as GET /v1/evaluations/{id} answers");
    command->footer(reading_exit_codes);
    command->callback([&action, options] { action = [options](const Paths& paths) { return show(paths, *options); }; });
}

}  // namespace kab::cli
