#include <cmath>

#include "cli/compare_report.h"
#include "cli/table.h"
#include "common/json.h"

namespace kab::cli {
namespace {

Json finite(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

std::optional<double> member(const std::optional<stats::Estimate>& estimate, double stats::Estimate::*which) {
    return estimate ? std::optional((*estimate).*which) : std::nullopt;
}

/// t, df and sd mean something only where there is a test.
std::optional<double> tested(const stats::Comparison& comparison, double value) {
    return comparison.estimate && !comparison.exact ? std::optional(value) : std::nullopt;
}

const std::string& arm_name(const CompareReport& report, int arm) {
    return report.prepared.input.arms[static_cast<std::size_t>(arm)].name;
}

Json comparisons(const CompareReport& report) {
    Json list = Json::array();
    for (const auto& comparison : report.output.comparisons) {
        const auto& series = series_of(report, comparison);
        const auto& estimate = comparison.estimate;
        const auto& rank = comparison.rank_estimate;
        list.push_back({{"arm", arm_name(report, comparison.arm)},
                        {"against", arm_name(report, comparison.against)},
                        {"workload", series.workload},
                        {"metric", series.metric},
                        {"unit", series.unit},
                        {"better", to_string(series.better)},
                        {"scale", to_string(series.scale)},
                        {"is_primary", comparison.primary},
                        {"n", counts_of(report, comparison)},
                        {"estimate", finite(member(estimate, &stats::Estimate::value))},
                        {"low", finite(member(estimate, &stats::Estimate::low))},
                        {"high", finite(member(estimate, &stats::Estimate::high))},
                        {"level", finite(member(estimate, &stats::Estimate::level))},
                        {"t", finite(tested(comparison, comparison.t))},
                        {"df", finite(tested(comparison, comparison.df))},
                        {"p", finite(comparison.p)},
                        {"p_adjusted", finite(comparison.p_adjusted)},
                        {"p_rank", finite(comparison.p_rank)},
                        {"rank_estimate", finite(member(rank, &stats::Estimate::value))},
                        {"rank_low", finite(member(rank, &stats::Estimate::low))},
                        {"rank_high", finite(member(rank, &stats::Estimate::high))},
                        {"rank_level", finite(member(rank, &stats::Estimate::level))},
                        {"p_equivalence", finite(comparison.p_equivalence)},
                        {"detectable", finite(comparison.detectable)},
                        {"margin", finite(comparison.margin)},
                        {"exact", comparison.exact},
                        {"material", comparison.material},
                        {"fragile", comparison.fragile},
                        {"verdict", to_string(comparison.verdict)},
                        {"sentence", compare_sentence(report, comparison)}});
    }
    return list;
}

Json values(const CompareReport& report) {
    Json list = Json::array();
    for (const auto& summary : report.output.summaries) {
        const auto& series = report.prepared.input.series[static_cast<std::size_t>(summary.series)];
        list.push_back({{"arm", arm_name(report, summary.arm)},
                        {"workload", series.workload},
                        {"metric", series.metric},
                        {"unit", series.unit},
                        {"n", summary.boots},
                        {"values", summary.values},
                        {"mean", finite(summary.mean)},
                        {"sd", finite(sd_of(summary))},
                        {"min", finite(summary.min)},
                        {"max", finite(summary.max)}});
    }
    return list;
}

Json components(const CompareReport& report) {
    Json list = Json::array();
    if (!report.prepared.blocks) return list;
    for (const auto& one : report.output.components) {
        const auto& series = report.prepared.input.series[static_cast<std::size_t>(one.series)];
        list.push_back({{"workload", series.workload},
                        {"metric", series.metric},
                        {"block", finite(one.block)},
                        {"boot", finite(one.boot)},
                        {"iteration", finite(one.iteration)}});
    }
    return list;
}

Json absent(const CompareReport& report) {
    Json list = Json::array();
    for (const auto& one : report.prepared.absent)
        list.push_back(
            {{"arm", arm_name(report, one.arm)}, {"metric", one.metric}, {"reason", one.reason}, {"values", one.runs}});
    return list;
}

std::string number(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

Cell cell(const std::optional<double>& value) {
    const auto text = number(value);
    return text.empty() ? Cell() : Cell(text);
}

}  // namespace

std::string compare_json(const CompareReport& report) {
    Json files = Json::array();
    for (const auto& source : report.sources) files.push_back({{"file", source.file}, {"format", source.format}});
    Json failures = Json::array();
    for (const auto& one : report.output.failures)
        if (one.boots + one.against_boots > 0)
            failures.push_back({{"arm", arm_name(report, one.arm)},
                                {"failed", one.failed},
                                {"runs", one.boots},
                                {"against_failed", one.against_failed},
                                {"against_runs", one.against_boots},
                                {"p", finite(one.p)}});
    const auto& design = report.prepared.input.design;
    return dump_json({{"files", files},
                      {"baseline", arm_name(report, 0)},
                      {"paired", report.prepared.blocks},
                      {"alpha", design.alpha},
                      {"margin", design.margin},
                      {"verdict", to_string(report.output.verdict)},
                      {"comparisons", comparisons(report)},
                      {"values", values(report)},
                      {"components", components(report)},
                      {"failures", failures},
                      {"absent", absent(report)},
                      {"warnings", warnings_of(report)},
                      {"notes", report.prepared.notes}}) +
           "\n";
}

std::string compare_csv(const CompareReport& report) {
    TextTable table;
    table.columns = {"arm",    "against",       "workload",   "metric",     "unit",
                     "better", "scale",         "is_primary", "n_arm",      "n_against",
                     "mean",   "against_mean",  "sd",         "against_sd", "estimate",
                     "low",    "high",          "level",      "p",          "p_adjusted",
                     "p_rank", "p_equivalence", "material",   "fragile",    "verdict"};
    for (const auto& comparison : report.output.comparisons) {
        const auto& series = series_of(report, comparison);
        const auto& estimate = comparison.estimate;
        const auto counts = counts_of(report, comparison);
        const auto* own = summary_of(report, comparison.arm, comparison.series);
        const auto* base = summary_of(report, comparison.against, comparison.series);
        const auto mean = [](const stats::Summary* summary) {
            return cell(summary == nullptr ? std::nullopt : std::optional(summary->mean));
        };
        const auto sd = [](const stats::Summary* summary) {
            return cell(summary == nullptr ? std::nullopt : sd_of(*summary));
        };
        table.rows.push_back({arm_name(report, comparison.arm),
                              arm_name(report, comparison.against),
                              series.workload,
                              series.metric,
                              series.unit,
                              to_string(series.better),
                              to_string(series.scale),
                              comparison.primary ? "1" : "0",
                              std::to_string(counts.front()),
                              std::to_string(counts.back()),
                              mean(own),
                              mean(base),
                              sd(own),
                              sd(base),
                              cell(member(estimate, &stats::Estimate::value)),
                              cell(member(estimate, &stats::Estimate::low)),
                              cell(member(estimate, &stats::Estimate::high)),
                              cell(member(estimate, &stats::Estimate::level)),
                              cell(comparison.p),
                              cell(comparison.p_adjusted),
                              cell(comparison.p_rank),
                              cell(comparison.p_equivalence),
                              comparison.material ? "1" : "0",
                              comparison.fragile ? "1" : "0",
                              to_string(comparison.verdict)});
    }
    return format_csv(table);
}

}  // namespace kab::cli
