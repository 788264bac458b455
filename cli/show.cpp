// kab show ID: how an evaluation stands.
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/source.h"
#include "cli/table.h"
#include "protocol/api/json.h"

namespace kab::cli {
namespace {

constexpr std::size_t failures_shown = 10;

struct Options {
    std::string id = "last";
    bool json = false;
};

std::string head_text(const api::EvaluationDetail& detail) {
    const auto& evaluation = detail.evaluation;
    std::string text = fmt::format("{}  {}\n", evaluation.uid, evaluation.experiment);
    if (!evaluation.question.empty()) text += evaluation.question + "\n";
    text += "status    " + evaluation.status;
    if (!evaluation.verdict.empty()) text += ", verdict " + evaluation.verdict;
    if (!evaluation.detail.empty()) text += ": " + evaluation.detail;
    text += fmt::format("\ncreated   {}  started {}  finished {} (UTC)\n", format_time(evaluation.created_at),
                        format_time(evaluation.started_at), format_time(evaluation.finished_at));
    text += fmt::format("blocks    {} complete, {} looks taken\n", detail.blocks_done, evaluation.looks_done);
    if (evaluation.progress) text += "now       " + describe(*evaluation.progress) + "\n";
    return text;
}

std::string arms_text(const api::EvaluationDetail& detail) {
    TextTable table{{"ARM", "AGAINST", "STATUS", "KERNEL", "RELEASE", "CODE", "OK", "FAILED", "DETAIL"},
                    {false, false, false, false, false, false, true, true},
                    {}};
    const auto cell = [](const std::string& text) { return text.empty() ? Cell() : Cell(text); };
    for (const auto& arm : detail.arms)
        table.rows.push_back({arm.name + (arm.control ? " (control)" : ""), cell(arm.against), arm.status,
                              cell(arm.kernel_key.substr(0, 12)), cell(arm.kernel_release),
                              cell(arm.code_signature.substr(0, 12)), std::to_string(arm.boots_ok),
                              std::to_string(arm.boots_failed), cell(arm.detail)});
    return "\n" + format_table(table);
}

std::string blocks_text(const api::EvaluationDetail& detail) {
    std::string text;
    for (const auto& block : detail.blocks) {
        if (block.status == "complete") continue;
        text += fmt::format("block {}{}  {}, {} of {} boots{}{}\n", block.number,
                            block.repetition > 1 ? fmt::format(".{}", block.repetition) : "", block.status,
                            block.boots_done, block.boots, block.detail.empty() ? "" : ": ", block.detail);
    }
    return text.empty() ? text : "\n" + text;
}

std::string failures_text(const api::EvaluationDetail& detail, const Paths& paths) {
    if (detail.failures.empty()) return {};
    std::string text = "\nfailed boots\n";
    for (std::size_t i = 0; i < detail.failures.size() && i < failures_shown; ++i) {
        const auto& failure = detail.failures[i];
        text += fmt::format("  block {}, {}: {}{}{}\n", failure.block, failure.arm, failure.outcome,
                            failure.detail.empty() ? "" : ": ", failure.detail);
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
    for (const auto& change : detail.transitions)
        text += fmt::format("  {}  {} {}: {}{}{}{}\n", format_time(change.at), change.object, change.name,
                            change.from.empty() ? "" : change.from + " -> ", change.to,
                            change.detail.empty() ? "" : ": ", change.detail);
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
    auto* command = app.add_subcommand("show", "Show how an evaluation stands: arms, kernels, blocks, failures");
    command->add_option("ID", options->id, "the evaluation")->capture_default_str();
    command->add_flag("--json", options->json, "as GET /v1/evaluations/{id} answers");
    command->callback([&action, options] { action = [options](const Paths& paths) { return show(paths, *options); }; });
}

}  // namespace kab::cli
