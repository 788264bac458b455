// The first sentences of a report.
#include <algorithm>

#include "daemon/report/compose.h"
#include "daemon/report/figures.h"

namespace kab::report {
namespace {

std::string metric_name(const stats::Comparison& comparison, const ReportInput& report) {
    std::string name = comparison.workload + "/" + comparison.metric;
    if (comparison.series < 0) return name + " (mean over the sweep)";
    const auto& point = series_of(report, comparison).point;
    return point.empty() ? name : name + " at " + point;
}

/// "1.202 s -> 0.951 s, " when there is one series to show.
std::string from_to(const ReportInput& report, const stats::Comparison& comparison) {
    if (comparison.series < 0) return "";
    const auto* before = find_summary(report, comparison.against, comparison.series);
    const auto* after = find_summary(report, comparison.arm, comparison.series);
    if (!before || !after) return "";
    const auto& unit = series_of(report, comparison).unit;
    return fmt::format("{} -> {}, ", unbroken(quantity(before->mean, unit)), unbroken(quantity(after->mean, unit)));
}

std::string margin_text(const ReportInput& report, const stats::Comparison& comparison) {
    const auto& series = series_of(report, comparison);
    if (series.scale == Scale::log) return fmt::format("{:.4g}%", 100 * comparison.margin);
    return quantity(comparison.margin, series.unit);
}

constexpr std::size_t most_named = 3;

/// The comparisons as text, the first ones in full; more of them are only counted.
std::string named(const ReportInput& report, std::vector<int> which) {
    // Declared order: a workload's own metrics, then CPU time, then the counters.
    std::sort(which.begin(), which.end());
    which.erase(std::unique(which.begin(), which.end()), which.end());
    std::string all;
    for (std::size_t i = 0; i < std::min(which.size(), most_named); ++i) {
        const auto& comparison = report.output.comparisons[static_cast<std::size_t>(which[i])];
        all += (i == 0 ? "" : "; ") + metric_name(comparison, report) + " " + from_to(report, comparison) +
               evidence(report, comparison);
    }
    if (which.size() > most_named) all += fmt::format("; and {} more, see below", which.size() - most_named);
    return all;
}

/// What got worse beside the primary, or better beside a primary that got worse.
std::string price(const ReportInput& report, const stats::Comparison& primary) {
    const auto own = static_cast<int>(&primary - report.output.comparisons.data());
    std::vector<int> worse, better;
    for (const auto& trade : report.output.trades) {
        if (trade.arm != primary.arm) continue;
        if (trade.worse_comparison != own) worse.push_back(trade.worse_comparison);
        if (trade.better_comparison != own) better.push_back(trade.better_comparison);
    }
    if (primary.verdict == stats::Verdict::regressed)
        return better.empty() ? " No other declared metric became better by more than the margin."
                              : " Against that it gains: " + named(report, better) + ". A trade.";
    if (worse.empty()) return " No other declared metric became worse by more than the margin.";
    return " The price: " + named(report, worse) + ". A trade, not a win.";
}

std::string judged(const ReportInput& report, const stats::Comparison& primary) {
    const auto& arms = report.input.arms;
    const std::string metric = metric_name(primary, report);
    const std::string facts = from_to(report, primary) + evidence(report, primary);
    const std::string lead = fmt::format("{} against {}: ", arms[static_cast<std::size_t>(primary.arm)].name,
                                         arms[static_cast<std::size_t>(primary.against)].name);
    const std::string margin = margin_text(report, primary);
    const std::string fragile = primary.fragile ? " Fragile: the rank test does not agree." : "";
    switch (primary.verdict) {
        case stats::Verdict::improved:
        case stats::Verdict::regressed:
            return fmt::format("{}{} {}, {}: {}.{}{}", lead, metric, stats::to_string(primary.verdict),
                               primary.material ? fmt::format("by more than the margin of {}", margin)
                                                : fmt::format("though perhaps by less than the margin of {}", margin),
                               facts, fragile, price(report, primary));
        case stats::Verdict::equivalent:
            return fmt::format("{}{} is equivalent within {}: {}.{}{}", lead, metric, margin, facts, fragile,
                               price(report, primary));
        case stats::Verdict::inconclusive: {
            const std::string more =
                report.output.more_blocks
                    ? fmt::format(" About {} more blocks would likely settle it.", *report.output.more_blocks)
                    : "";
            return fmt::format("{}cannot tell for {}: {}; neither a difference nor equivalence within {} is shown.{}",
                               lead, metric, facts, margin, more);
        }
        case stats::Verdict::pending: return fmt::format("{}no verdict yet for {}: {}.", lead, metric, facts);
        case stats::Verdict::none:
            return fmt::format("{}{}: {}; it is better in neither direction.", lead, metric, facts);
        case stats::Verdict::invalid: return "";
    }
    return "";
}

/// Arms that could not be built or had to be stopped.
void broken_arms(const ReportInput& report, std::vector<std::string>& sentences) {
    for (const auto& arm : report.tree.arms) {
        if (arm.status == "failed")
            sentences.push_back(fmt::format("build-failure: {} could not be built: {}", arm.name, arm.detail));
        if (arm.status == "stopped") sentences.push_back(fmt::format("{} was stopped: {}", arm.name, arm.detail));
    }
    for (const auto& failure : report.output.failures) {
        if (failure.failed == 0 || report.input.arms[static_cast<std::size_t>(failure.arm)].control) continue;
        const auto& arms = report.input.arms;
        sentences.push_back(fmt::format(
            "{} failed in {} of {} boots, {} in {} of {}{}.", arms[static_cast<std::size_t>(failure.arm)].name,
            failure.failed, failure.boots, arms[static_cast<std::size_t>(failure.against)].name, failure.against_failed,
            failure.against_boots, failure.p ? " (Fisher's exact " + unbroken("p " + p_value(*failure.p)) + ")" : ""));
    }
}

}  // namespace

std::vector<std::string> claims(const ReportInput& report) {
    std::vector<std::string> sentences;
    broken_arms(report, sentences);
    const auto& evaluation = report.tree.evaluation;
    if (report.output.blocks == 0) {
        std::string why = evaluation.detail.empty() || !sentences.empty() ? "" : ": " + evaluation.detail;
        sentences.push_back(
            fmt::format("Nothing was measured: no block was completed{} (evaluation {}).", why, evaluation.status));
        return sentences;
    }
    if (report.output.verdict == stats::Verdict::invalid)
        sentences.push_back("INVALID, no claim can be made: " + report.output.sentence + ".");
    else
        for (const int arm : shown_arms(report))
            if (const auto* primary = primary_of(report, arm)) sentences.push_back(judged(report, *primary));
    if (report.look < 0) sentences.push_back("This is a preview: no planned look has been taken yet.");
    if (const auto text = caution(report); !text.empty()) sentences.push_back("All of this was " + text + ".");
    return sentences;
}

}  // namespace kab::report
