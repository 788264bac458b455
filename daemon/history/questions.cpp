#include <algorithm>
#include <set>

#include "daemon/history/history.h"

namespace kab::history {
namespace {

using store::ComparisonRow;

std::string metric_name(const ComparisonRow& row) {
    return row.workload + "/" + row.metric;
}

/// Names each once, in the order of their first appearance.
template <class Of>
std::vector<std::string> names_of(const std::vector<ComparisonRow>& rows, Of of) {
    std::vector<std::string> names;
    for (const auto& row : rows)
        if (const auto name = of(row); std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    return names;
}

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + (name.empty() ? "\"\"" : name);
    return text;
}

Error unknown(const std::string& what, const std::string& experiment, const std::string& name,
              const std::vector<std::string>& known) {
    return {
        Fault::usage,
        fmt::format("no evaluation of {} compares the {} '{}' (there is {})", experiment, what, name, listed(known)),
        {}};
}

/// Those of this name.
template <class Of>
std::vector<ComparisonRow> only(const std::vector<ComparisonRow>& rows, Of of, const std::string& value) {
    std::vector<ComparisonRow> kept;
    for (const auto& row : rows)
        if (of(row) == value) kept.push_back(row);
    return kept;
}

/// Comparisons, those of the newest evaluation first. `all`: of the controls and the like, too.
std::vector<ComparisonRow> comparisons(const std::vector<Record>& records, const std::string& experiment, bool all) {
    std::vector<ComparisonRow> rows;
    for (auto record = records.rbegin(); record != records.rend(); ++record) {
        if (record->tree.evaluation.experiment != experiment) continue;
        std::set<std::string> others;
        for (const auto& arm : record->tree.arms)
            if (!all && (arm.control || (!arm.role.empty() && arm.role != "measured"))) others.insert(arm.name);
        for (const auto& row : record->comparisons)
            if (!others.contains(row.arm)) rows.push_back(row);
    }
    return rows;
}

/// The primary one, as the newest evaluation has it.
std::string usual_metric(const std::vector<ComparisonRow>& rows) {
    const auto primary = std::find_if(rows.begin(), rows.end(), [](const ComparisonRow& row) { return row.primary; });
    return metric_name(primary == rows.end() ? rows.front() : *primary);
}

/// The one that decides; else the mean over a sweep, where the newest evaluation has one.
std::string usual_point(const std::vector<ComparisonRow>& rows) {
    if (rows.front().point.empty()) return {};
    for (const auto& row : rows)
        if (row.primary) return row.point;
    for (const auto& row : rows)
        if (row.point == "*") return row.point;
    return rows.front().point;
}

}  // namespace

Result<std::vector<Question>> questions(const std::vector<Record>& records, const std::string& experiment,
                                        const std::optional<std::string>& arm, const std::optional<std::string>& metric,
                                        const std::optional<std::string>& point) {
    auto rows = comparisons(records, experiment, arm.has_value());
    if (rows.empty()) return std::vector<Question>();
    const auto arm_of = [](const ComparisonRow& row) { return row.arm; };
    const auto point_of = [](const ComparisonRow& row) { return row.point; };
    if (arm) {
        const auto known = names_of(rows, arm_of);
        rows = only(rows, arm_of, *arm);
        if (rows.empty()) return tl::unexpected(unknown("arm", experiment, *arm, known));
    }
    const std::string wanted = metric ? *metric : usual_metric(rows);
    const auto metrics = names_of(rows, metric_name);
    rows = only(rows, metric_name, wanted);
    if (rows.empty()) return tl::unexpected(unknown("metric", experiment, wanted, metrics));
    const auto points = names_of(rows, point_of);
    const std::string at = point ? *point : usual_point(rows);
    rows = only(rows, point_of, at);
    if (rows.empty()) return tl::unexpected(unknown("point", experiment, at, points));
    std::vector<Question> asked;
    for (const auto& name : names_of(rows, arm_of))
        asked.push_back({experiment, name, rows.front().workload, rows.front().metric, at});
    return asked;
}

}  // namespace kab::history
