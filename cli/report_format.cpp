#include "cli/report_format.h"

#include <algorithm>

#include "cli/follow.h"
#include "cli/source.h"
#include "daemon/report/report.h"

namespace kab::cli {
namespace {

void print_failed_arms(const api::EvaluationDetail& detail) {
    for (const auto& arm : detail.arms)
        if ((arm.status == "failed" || arm.status == "stopped") && !arm.control && !arm.detail.empty())
            fmt::print(stderr, "kab: arm {} {}: {}\n", arm.name, arm.status, arm.detail);
}

}  // namespace

void add_report_format(CLI::App& command, std::string& format) {
    auto* option =
        command.add_option("--format", format, "of the report: text, markdown, json, or csv with one row a sample")
            ->check(CLI::IsMember({"text", "markdown", "json", "csv"}))
            ->type_name("FORMAT")
            ->capture_default_str();
    add_json_format(command, option, format);
}

void add_follow_options(CLI::App& command, FollowOptions& options) {
    add_report_format(command, options.format);
    command.add_flag("-q,--quiet", options.quiet, "no progress");
}

Result<std::string> render_report(const Paths& paths, const std::string& name, const std::string& format,
                                  bool explain) {
    const auto store = open_store(paths);
    if (!store) return pass(store);
    const auto found = (*store)->find_evaluation(name);
    if (!found) return pass(found);
    const auto report = report::gather(**store, found->uid);
    if (!report) return pass(report);
    if (format == "markdown") return report::render_markdown(*report, explain);
    if (format == "json") return report::render_json(*report);
    if (format == "csv") return report::render_csv(*report);
    return report::render_text(*report, explain);
}

int follow_and_report(const Paths& paths, const std::string& name, const FollowOptions& options,
                      bool cancel_when_interrupted) {
    const auto style = options.quiet ? ProgressView::Style::silent : ProgressView::style_of(stderr);
    const auto detail = follow(paths, name, style, cancel_when_interrupted);
    if (!detail) return complain(detail.error());
    return report_end(paths, *detail, options, options.quiet);
}

int report_end(const Paths& paths, const api::EvaluationDetail& detail, const FollowOptions& options, bool untold) {
    const auto& evaluation = detail.evaluation;
    if (evaluation.status != "done")
        fmt::print(stderr, "kab: evaluation {} {}{}{}\n", evaluation.uid, evaluation.status,
                   evaluation.detail.empty() ? "" : ": ", evaluation.detail);
    if (untold) print_failed_arms(detail);
    const int code = exit_code(detail);
    // One that was stopped before its first block has nothing to report, unless it was a check that stopped it.
    const auto checks = [](const api::Block& block) { return block.number == 0 && block.status == "complete"; };
    const bool checked = std::any_of(detail.blocks.begin(), detail.blocks.end(), checks);
    if (evaluation.status != "done" && detail.blocks_done == 0 && !checked) return code;
    const auto text = render_report(paths, evaluation.uid, options.format);
    const int printed = text ? print_or_complain(*text) : complain(text.error());
    return printed == exit_ok ? code : printed;
}

}  // namespace kab::cli
