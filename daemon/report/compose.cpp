#include "daemon/report/compose.h"

#include <algorithm>

#include "common/score.h"
#include "daemon/report/figures.h"

namespace kab::report {

bool finished(const ReportInput& report) {
    const auto& status = report.tree.evaluation.status;
    return status == "done" || status == "failed" || status == "cancelled";
}

bool keeps_failing(const ReportInput& report, int arm) {
    const int against = report.input.arms[static_cast<std::size_t>(arm)].against;
    if (against < 0) return false;
    const auto& arms = report.tree.arms;
    const auto& row = arms[static_cast<std::size_t>(arm)];
    return report.input.arms[static_cast<std::size_t>(arm)].question() && row.status == "stopped" &&
           arms[static_cast<std::size_t>(against)].status == "ready";
}

std::string caution(const ReportInput& report) {
    const auto emulated = [](const store::BootReport& boot) { return boot.accel == "tcg"; };
    const bool any = std::any_of(report.boots.begin(), report.boots.end(), emulated) ||
                     std::any_of(report.check_boots.begin(), report.check_boots.end(), emulated);
    return any ? "emulated: not evidence for hardware" : "";
}

const stats::Series& series_of(const ReportInput& report, const stats::Comparison& comparison) {
    static const stats::Series none;
    const auto& all = report.input.series;
    if (comparison.series >= 0) return all[static_cast<std::size_t>(comparison.series)];
    const auto found = std::find_if(all.begin(), all.end(), [&](const stats::Series& s) {
        return s.workload == comparison.workload && s.metric == comparison.metric;
    });
    return found == all.end() ? none : *found;
}

std::string evidence(const ReportInput& report, const stats::Comparison& comparison) {
    const auto& series = series_of(report, comparison);
    if (!comparison.estimate) return "not compared, " + comparison.reason;
    const auto& estimate = *comparison.estimate;
    const std::string value = unbroken(
        fmt::format("{} {}", series.scale == Scale::log ? "ratio" : "difference", effect(estimate.value, series)));
    const std::string blocks = unbroken(fmt::format("n = {} block{}", comparison.n, comparison.n == 1 ? "" : "s"));
    std::string p;
    if (comparison.p_adjusted)
        p = ", adjusted " + unbroken("p " + p_value(*comparison.p_adjusted));
    else if (comparison.p)
        p = ", " + unbroken("p " + p_value(*comparison.p));
    if (comparison.exact) return fmt::format("{} in every block without any variation ({}{})", value, blocks, p);
    return fmt::format("{} ({:.4g}% interval {}{}, {})", value, 100 * estimate.level, interval(estimate, series), p,
                       blocks);
}

std::string score_note(const ReportInput& report, const std::string& workload) {
    for (const auto& series : report.input.series)
        if (series.workload == workload && series.quantile)
            return fmt::format("what is compared of a boot: the {} of its iterations", score_word(series.quantile));
    return "";
}

const stats::Summary* find_summary(const ReportInput& report, int arm, int series) {
    for (const auto& summary : report.output.summaries)
        if (summary.arm == arm && summary.series == series) return &summary;
    return nullptr;
}

std::vector<int> shown_arms(const ReportInput& report) {
    std::vector<int> arms;
    for (std::size_t i = 0; i < report.input.arms.size(); ++i)
        if (report.input.arms[i].question()) arms.push_back(static_cast<int>(i));
    return arms;
}

const stats::Comparison* primary_of(const ReportInput& report, int arm) {
    for (const auto& comparison : report.output.comparisons)
        if (comparison.arm == arm && comparison.primary) return &comparison;
    return nullptr;
}

Document compose(const ReportInput& report, bool explain) {
    const auto& evaluation = report.tree.evaluation;
    Document document;
    document.title = evaluation.experiment;
    Section first;
    if (!evaluation.question.empty()) first.parts.emplace_back(Paragraph{evaluation.question});
    for (auto& claim : claims(report)) first.parts.emplace_back(Paragraph{std::move(claim)});
    document.sections.push_back(std::move(first));
    if (auto faults = faults_section(report); !faults.parts.empty()) document.sections.push_back(std::move(faults));
    document.sections.push_back(setup_section(report));
    for (auto& section : result_sections(report)) document.sections.push_back(std::move(section));
    for (auto section : {reliability_section(report), conditions_section(report), quality_section(report)})
        if (!section.parts.empty()) document.sections.push_back(std::move(section));
    if (explain)
        for (auto& section : explain_sections(report)) document.sections.push_back(std::move(section));
    if (auto section = reproduce_section(report); !section.parts.empty())
        document.sections.push_back(std::move(section));
    return document;
}

}  // namespace kab::report
