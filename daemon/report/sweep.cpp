#include "daemon/report/sweep.h"

#include <algorithm>
#include <set>

#include "common/json.h"
#include "common/workload_catalog.h"
#include "daemon/report/compose.h"
#include "daemon/report/figures.h"

namespace kab::report {
namespace {

const stats::ArmInfo& arm_of(const ReportInput& report, int arm) {
    return report.input.arms[static_cast<std::size_t>(arm)];
}

const stats::Comparison* at_point(const ReportInput& report, const stats::Comparison& mean, const std::string& point) {
    for (const auto& c : report.output.comparisons)
        if (c.series >= 0 && c.arm == mean.arm && c.workload == mean.workload && c.metric == mean.metric &&
            series_of(report, c).point == point)
            return &c;
    return nullptr;
}

/// "0.857 [0.821, 0.895]"
std::string cell(const ReportInput& report, const stats::Comparison* comparison, std::set<std::string>& levels) {
    if (comparison == nullptr || !comparison->estimate) return "-";
    const auto& series = series_of(report, *comparison);
    const std::string value = effect(comparison->estimate->value, series);
    if (comparison->exact) return value + " [exact]";
    levels.insert(fmt::format("{:.4g}%", 100 * comparison->estimate->level));
    std::string bounds = interval(*comparison->estimate, series);
    if (const auto to = bounds.find(" to "); to != std::string::npos) bounds.replace(to, 4, ", ");
    return value + " [" + bounds + "]";
}

std::string listed(const std::set<std::string>& levels) {
    std::string text;
    for (const auto& level : levels) text += (text.empty() ? "" : " or ") + level;
    return text;
}

std::string verdict_of(const ReportInput& report, const stats::Comparison& mean) {
    if (mean.verdict == stats::Verdict::pending && finished(report)) return "no verdict";
    const bool directed = mean.verdict == stats::Verdict::improved || mean.verdict == stats::Verdict::regressed;
    return std::string(stats::to_string(mean.verdict)) + (directed && mean.material ? " !" : "");
}

/// "tasks" and "16" of "tasks=16"; of several swept parameters "point" and all of it.
std::pair<std::string, std::string> row_name(const std::string& point) {
    const auto equals = point.find('=');
    if (equals == std::string::npos || point.find('=', equals + 1) != std::string::npos) return {"point", point};
    return {point.substr(0, equals), point.substr(equals + 1)};
}

/// The means over the sweep, an arm each.
std::vector<const stats::Comparison*> means_of(const ReportInput& report, const std::string& workload) {
    std::vector<const stats::Comparison*> means;
    for (const int arm : shown_arms(report))
        if (const auto* primary = primary_of(report, arm);
            primary != nullptr && primary->series < 0 && primary->workload == workload)
            means.push_back(primary);
    return means;
}

}  // namespace

std::string oversubscribed(const ReportInput& report, const std::string& workload, const std::string& point) {
    const auto* info = find_workload(workload);
    if (info == nullptr || !report.experiment.contains("host")) return "";
    const auto cpus = report.experiment["host"].value("cpus", std::int64_t{0});
    for (const auto& row : report.tree.points) {
        if (row.workload != workload || row.label != point) continue;
        const auto parameters = parse_json(row.parameters);
        if (!parameters || !parameters->is_object()) return "";
        for (const auto& parameter : info->parameters) {
            const auto value = parameters->value(std::string(parameter.name), std::int64_t{0});
            if (parameter.runnable && cpus > 0 && value > cpus)
                return fmt::format("oversubscribed: more {} than the {} of the machine", parameter.name,
                                   cpus == 1 ? "one CPU" : fmt::format("{} CPUs", cpus));
        }
    }
    return "";
}

std::optional<Table> sweep_effects(const ReportInput& report, const std::string& workload,
                                   const std::vector<std::string>& points) {
    const auto means = means_of(report, workload);
    if (means.empty() || points.empty()) return std::nullopt;
    const bool one_baseline = std::all_of(means.begin(), means.end(),
                                          [&](const auto* mean) { return mean->against == means.front()->against; });
    const bool ratios = series_of(report, *means.front()).scale == Scale::log;
    Table table;
    table.title = fmt::format("{}/{}: {} {}, with intervals", workload, means.front()->metric,
                              ratios ? "ratio to" : "difference from",
                              one_baseline ? arm_of(report, means.front()->against).name : "its own baseline");
    table.caution = caution(report);
    table.align = "l" + std::string(means.size(), 'r');
    table.header = {row_name(points.front()).first};
    for (const auto* mean : means)
        table.header.push_back(arm_of(report, mean->arm).name +
                               (one_baseline ? "" : " / " + arm_of(report, mean->against).name));
    std::set<std::string> levels, mean_levels;
    for (const auto& point : points) {
        auto& row = table.rows.emplace_back();
        row.push_back(row_name(point).second + (oversubscribed(report, workload, point).empty() ? "" : " o"));
        for (const auto* mean : means) row.push_back(cell(report, at_point(report, *mean, point), levels));
    }
    std::vector<std::string> mean_row{"mean"}, verdicts{"verdict"};
    for (const auto* mean : means) {
        mean_row.push_back(cell(report, mean, mean_levels));
        verdicts.push_back(verdict_of(report, *mean));
    }
    table.rows.push_back(std::move(mean_row));
    table.rows.push_back(std::move(verdicts));
    table.notes.push_back(fmt::format("the verdict is that of the mean over the sweep{}{}",
                                      mean_levels.empty() ? "" : "; its interval: " + listed(mean_levels),
                                      levels.empty() ? "" : ", those of single points: " + listed(levels)));
    for (const auto& point : points)
        if (const auto text = oversubscribed(report, workload, point); !text.empty()) {
            table.notes.push_back("o " + text);
            break;
        }
    return table;
}

}  // namespace kab::report
