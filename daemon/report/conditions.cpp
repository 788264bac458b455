#include "daemon/report/conditions.h"

#include <algorithm>
#include <limits>
#include <map>

#include "daemon/report/compose.h"
#include "daemon/report/figures.h"

namespace kab::report {
namespace {

struct Known {
    const char* name;
    const char* label;
    double usual;
};
constexpr Known known[] = {{"steal", "steal", 0.02},
                           {"run-delay", "run-delay", 0.05},
                           {"host-load", "host-load", 0.5},
                           {"canary", "canary, slower", 0.1},
                           {"throttled", "throttled", 0}};

/// The last block of the figures.
std::int64_t last_block(const ReportInput& report) {
    return report.look < 0 ? std::numeric_limits<std::int64_t>::max()
                           : std::int64_t{report.input.design.looks[static_cast<std::size_t>(report.look)]};
}

bool in_figures(const ReportInput& report, const store::ConditionRow& row) {
    return row.kind != "check" && row.block <= last_block(report);
}

/// The fastest canary of each block; a warm-up's is as good as any.
std::map<std::int64_t, double> fastest_canaries(const ReportInput& report) {
    std::map<std::int64_t, double> fastest;
    for (const auto& row : report.conditions) {
        if (row.name != "canary" || !row.value || !(*row.value > 0) || !in_figures(report, row)) continue;
        const auto [at, added] = fastest.emplace(row.block, *row.value);
        if (!added) at->second = std::min(at->second, *row.value);
    }
    return fastest;
}

std::optional<double> declared(const ReportInput& report, const std::string& name) {
    const auto exclude = report.experiment.find("exclude");
    if (exclude == report.experiment.end()) return std::nullopt;
    const auto bound = exclude->find(name);
    if (bound == exclude->end()) return std::nullopt;
    if (bound->is_boolean()) return bound->get<bool>() ? std::optional<double>(0) : std::nullopt;
    return bound->is_number() ? std::optional<double>(bound->get<double>()) : std::nullopt;
}

ConditionSummary summarise(const ReportInput& report, const Known& which,
                           const std::map<std::int64_t, double>& fastest) {
    ConditionSummary summary;
    summary.name = which.name;
    summary.usual = which.usual;
    summary.bound = declared(report, summary.name);
    const bool canary = summary.name == "canary";
    std::vector<double> values;
    for (const auto& row : report.conditions) {
        if (row.name != summary.name || row.warmup || !in_figures(report, row)) continue;
        const auto base = fastest.find(row.block);
        if (!row.value || (canary && (base == fastest.end() || !(*row.value > 0)))) {
            if (summary.absent++ == 0) summary.reason = row.reason;
            continue;
        }
        const double value = canary ? *row.value / base->second - 1 : *row.value;
        values.push_back(value);
        summary.above_usual += value > summary.usual ? 1 : 0;
        if (summary.worst && value <= *summary.worst) continue;
        summary.worst = value;
        summary.worst_arm = row.arm;
        summary.worst_block = row.block;
        summary.worst_seq = row.seq;
    }
    summary.runs = static_cast<int>(values.size());
    if (values.empty()) return summary;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    // Of an even number the mean of the two in the middle.
    summary.median = values.size() % 2 == 1 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
    return summary;
}

std::string label_of(const std::string& name) {
    for (const auto& one : known)
        if (name == one.name) return one.label;
    return name;
}

/// What happened where a condition was beyond the usual bound.
std::string beyond_usual(const ConditionSummary& summary, const std::string& bound) {
    if (summary.name == "throttled") return "CPUs of the host were throttled";
    if (summary.name == "canary") return "the canary was slower than its block's fastest by more than " + bound;
    return fmt::format("{} was above {}", summary.name, bound);
}

/// What a reader should know about one condition, or nothing.
std::string warning(const ConditionSummary& summary) {
    const int all = summary.runs + summary.absent;
    if (summary.bound && summary.absent > 0)
        return fmt::format("warning: exclude.{} was declared, but could not be judged in {} of {} runs: {}",
                           summary.name, summary.absent, all, summary.reason);
    // One run in twenty may be that bad on a quiet machine; a throttled one never.
    const bool often = summary.name == "throttled" ? summary.above_usual > 0 : 20 * summary.above_usual > all;
    if (summary.bound || !often) return "";
    const std::string key = summary.name == "throttled" ? "true" : condition_value(summary.name, summary.usual);
    return fmt::format("warning: {} in {} of {} runs, and no exclusion was declared; {} would boot such blocks again",
                       beyond_usual(summary, key), summary.above_usual, all,
                       unbroken(fmt::format("exclude: {{{}: {}}}", summary.name, key)));
}

Table table_of(const ReportInput& report, const std::vector<ConditionSummary>& all) {
    Table table;
    table.title = "The machine during the runs that count";
    table.caution = caution(report);
    table.header = {"condition", "median", "worst", "worst in", "excluded above"};
    table.align = "lrrlr";
    for (const auto& summary : all) {
        const auto bound = summary.bound ? condition_value(summary.name, *summary.bound) : "-";
        if (!summary.worst) {
            table.rows.push_back({label_of(summary.name), "absent", "-", "-", bound});
            table.notes.push_back(fmt::format("{} is absent: {}", summary.name, summary.reason));
            continue;
        }
        const bool clean = *summary.worst <= 0;
        table.rows.push_back(
            {label_of(summary.name), condition_value(summary.name, *summary.median),
             condition_value(summary.name, *summary.worst),
             clean ? "-"
                   : fmt::format("block {}, {}, run {}", summary.worst_block, summary.worst_arm, summary.worst_seq),
             bound});
    }
    return table;
}

}  // namespace

std::string condition_value(const std::string& name, double value) {
    return name == "throttled" || name == "host-load" ? fmt::format("{:.4g}", value) : share(value);
}

std::vector<ConditionSummary> summarise_conditions(const ReportInput& report) {
    const auto fastest = fastest_canaries(report);
    std::vector<ConditionSummary> all;
    for (const auto& which : known) {
        auto summary = summarise(report, which, fastest);
        if (summary.runs + summary.absent > 0) all.push_back(std::move(summary));
    }
    return all;
}

std::string excluded_by_cause(const ReportInput& report) {
    std::map<std::string, int> counts;
    for (const auto& block : report.tree.blocks)
        if (block.status == "excluded") ++counts[block.cause.empty() ? "other" : block.cause];
    std::string text;
    for (const auto& [cause, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, count);
    return text;
}

Section conditions_section(const ReportInput& report) {
    Section section{"How quiet the machine was", {}};
    const auto all = summarise_conditions(report);
    if (all.empty()) return section;
    section.parts.emplace_back(table_of(report, all));
    Items items;
    // What the machine did does not reach an exact guest: no advice to boot again for it.
    const bool exact = report.input.design.exact;
    if (exact) items.items.emplace_back("in exact mode none of this touches a figure");
    for (const auto& summary : all)
        if (auto text = exact && !summary.bound ? "" : warning(summary); !text.empty())
            items.items.push_back(std::move(text));
    if (!items.items.empty()) section.parts.emplace_back(std::move(items));
    return section;
}

}  // namespace kab::report
