#include <algorithm>
#include <cmath>

#include "cli/compare_report.h"
#include "daemon/report/figures.h"
#include "daemon/stats/words.h"

namespace kab::cli {
namespace {

/// The analysis counts boots; here they are runs.
std::string with_own_words(std::string text, const CompareReport& report) {
    const std::string own = report.prepared.blocks ? "block" : "run";
    for (auto at = text.find("boot"); at != std::string::npos; at = text.find("boot", at + own.size()))
        text.replace(at, 4, own);
    return text;
}

std::string margin_text(const stats::Comparison& comparison, const stats::Series& series) {
    const double margin = comparison.margin.value_or(0);
    if (series.scale == Scale::log) return stats::plain_percent(margin);
    return report::quantity(margin, series.unit);
}

std::string figures(const CompareReport& report, const stats::Comparison& comparison, const stats::Series& series) {
    const auto& estimate = *comparison.estimate;
    std::string counts;
    for (const int n : counts_of(report, comparison)) counts += (counts.empty() ? "" : " and ") + std::to_string(n);
    const std::string n = fmt::format("n = {} {}s", counts, unit_of_count(report));
    const std::string value =
        (series.scale == Scale::log ? "ratio " : "difference ") + report::effect(estimate.value, series);
    std::string p;
    if (comparison.p_adjusted || comparison.p) {
        const auto text = report::p_value(comparison.p_adjusted ? *comparison.p_adjusted : *comparison.p);
        p = fmt::format("{}p {}{}, ", comparison.p_adjusted && report.output.comparisons.size() > 1 ? "adjusted " : "",
                        text.front() == '<' ? "" : "= ", text);
    }
    if (comparison.exact) return fmt::format("{} exactly ({}{}, no variation)", value, p, n);
    return fmt::format("{} ({:.4g}% interval {}, {}{})", value, 100 * estimate.level,
                       report::interval(estimate, series), p, n);
}

std::string open_text(const CompareReport& report, const stats::Comparison& comparison, const std::string& margin) {
    std::string text =
        comparison.margin.value_or(0) > 0
            ? fmt::format("inconclusive, neither a difference nor equivalence within {} is shown", margin)
            : "inconclusive, no difference is shown";
    // Here more of the same can be measured, unlike of an evaluation that has reached its cap.
    if (comparison.blocks_needed)
        text += fmt::format("; about {}{} would likely settle it",
                            stats::counted(std::max(1, *comparison.blocks_needed - comparison.n),
                                           (std::string("more ") + unit_of_count(report)).c_str()),
                            report.prepared.blocks ? "" : " a side");
    return text;
}

std::string conclusion(const CompareReport& report, const stats::Comparison& comparison, const stats::Series& series) {
    const auto margin = margin_text(comparison, series);
    const bool differs = comparison.estimate &&
                         (series.scale == Scale::log ? comparison.estimate->low > 1 || comparison.estimate->high < 1
                                                     : comparison.estimate->low > 0 || comparison.estimate->high < 0);
    switch (comparison.verdict) {
        case stats::Verdict::equivalent:
            return comparison.exact && !differs ? "equivalent, exactly the same"
                                                : fmt::format("equivalent within {}{}", margin,
                                                              differs ? ", though the small difference is real" : "");
        case stats::Verdict::improved:
        case stats::Verdict::regressed:
            if (comparison.material)
                return fmt::format("{}, by more than the margin of {}", to_string(comparison.verdict), margin);
            if (!(comparison.margin.value_or(0) > 0)) return to_string(comparison.verdict);
            return fmt::format("{}, though perhaps by less than the margin of {}", to_string(comparison.verdict),
                               margin);
        case stats::Verdict::none:
            return differs ? "it differs; this metric is better in neither direction" : "no difference is shown";
        default: return open_text(report, comparison, margin);
    }
}

}  // namespace

const char* unit_of_count(const CompareReport& report) {
    return report.prepared.blocks ? "block" : "run";
}

const stats::Series& series_of(const CompareReport& report, const stats::Comparison& comparison) {
    return report.prepared.input.series[static_cast<std::size_t>(comparison.series)];
}

const stats::Summary* summary_of(const CompareReport& report, int arm, int series) {
    for (const auto& summary : report.output.summaries)
        if (summary.arm == arm && summary.series == series) return &summary;
    return nullptr;
}

std::optional<double> sd_of(const stats::Summary& summary) {
    if (summary.boots < 2) return std::nullopt;
    if (summary.relative_sd) return *summary.relative_sd * std::abs(summary.mean);
    return summary.min == summary.max ? std::optional(0.0) : std::nullopt;
}

std::vector<int> counts_of(const CompareReport& report, const stats::Comparison& comparison) {
    if (report.prepared.blocks) return {comparison.n};
    std::vector<int> counts;
    for (const int arm : {comparison.arm, comparison.against}) {
        const auto* summary = summary_of(report, arm, comparison.series);
        counts.push_back(summary == nullptr ? 0 : summary->boots);
    }
    if (counts[0] == counts[1]) return {counts[0], counts[0]};
    return counts;
}

std::string compare_sentence(const CompareReport& report, const stats::Comparison& comparison) {
    const auto& arms = report.prepared.input.arms;
    const auto& series = series_of(report, comparison);
    const std::string what =
        fmt::format("{} against {}, {}: ", arms[static_cast<std::size_t>(comparison.arm)].name,
                    arms[static_cast<std::size_t>(comparison.against)].name,
                    series.workload.empty() ? series.metric : series.workload + "/" + series.metric);
    if (!comparison.estimate) return what + "not compared, " + with_own_words(comparison.reason, report);
    std::string text = what + figures(report, comparison, series) + ": " + conclusion(report, comparison, series);
    if (comparison.fragile) text += "; fragile, the rank test does not agree";
    return text;
}

std::vector<std::string> warnings_of(const CompareReport& report) {
    std::vector<std::string> warnings;
    for (const auto& failure : report.output.failures)
        if (failure.failed + failure.against_failed > 0) {
            const auto& arms = report.prepared.input.arms;
            warnings.push_back(fmt::format(
                "{} of {} runs failed with {}, {} of {} with {} (Fisher's exact {}); their values are not used",
                failure.failed, failure.boots, arms[static_cast<std::size_t>(failure.arm)].name, failure.against_failed,
                failure.against_boots, arms[static_cast<std::size_t>(failure.against)].name,
                failure.p ? stats::p_text(*failure.p) : "p unknown"));
        }
    // Unpaired the numbers of blocks are ours, and what the analysis says of them means nothing to a reader.
    if (!report.prepared.blocks) return warnings;
    for (const auto& warning : report.output.warnings)
        if (!warning.starts_with("failed boots") && warning.find("no control arm") == std::string::npos)
            warnings.push_back(with_own_words(warning, report));
    return warnings;
}

}  // namespace kab::cli
