// Values and comparisons, workload by workload.
#include <algorithm>
#include <map>

#include "daemon/report/compose.h"
#include "daemon/report/derived.h"
#include "daemon/report/figures.h"
#include "daemon/report/profile.h"
#include "daemon/report/sweep.h"

namespace kab::report {
namespace {

std::string arm_name(const ReportInput& report, int arm) {
    return report.input.arms[static_cast<std::size_t>(arm)].name;
}

/// -1 when nothing was measured.
int find_series(const ReportInput& report, const std::string& workload, const std::string& point,
                const std::string& metric) {
    for (std::size_t i = 0; i < report.input.series.size(); ++i) {
        const auto& series = report.input.series[i];
        if (series.workload == workload && series.point == point && series.metric == metric) return static_cast<int>(i);
    }
    return -1;
}

/// Numbered footnotes; the same text has the same number.
class Notes {
  public:
    std::string mark(const std::string& text) {
        const auto found = std::find(texts_.begin(), texts_.end(), text);
        const auto number = found - texts_.begin() + 1;
        if (found == texts_.end()) texts_.push_back(text);
        return fmt::format("[{}]", number);
    }
    std::vector<std::string> lines() const {
        std::vector<std::string> lines;
        for (std::size_t i = 0; i < texts_.size(); ++i) lines.push_back(fmt::format("[{}] {}", i + 1, texts_[i]));
        return lines;
    }

  private:
    std::vector<std::string> texts_;
};

/// Sweeps of so few points are shown point by point, with all metrics below each other as without a sweep.
constexpr std::size_t few_points = 2;

class Results {
  public:
    explicit Results(const ReportInput& report) : report_(report), arms_(shown_arms(report)), derived_(report) {}

    std::vector<Section> sections() {
        std::vector<Section> sections;
        for (const auto& workload : workloads()) {
            Section section{workload, {}};
            const auto points = points_of(workload);
            if (points.size() > few_points) {
                add_sweep(workload, points, section);
            } else {
                for (const auto& point : points) section.parts.emplace_back(value_table(workload, point));
                if (points.size() > 1) add_effects(workload, points, section);
            }
            for (const int arm : arms_)
                for (auto& table : comparison_tables(report_, workload, arm))
                    section.parts.emplace_back(std::move(table));
            for (auto& table : profile_tables(report_, workload)) section.parts.emplace_back(std::move(table));
            sections.push_back(std::move(section));
        }
        return sections;
    }

  private:
    /// Not the checks, which measure nothing.
    std::vector<std::string> workloads() const {
        std::vector<std::string> names;
        for (const auto& metric : report_.tree.metrics)
            if (std::find(names.begin(), names.end(), metric.workload) == names.end()) names.push_back(metric.workload);
        return names;
    }
    std::vector<std::string> points_of(const std::string& workload) const {
        std::vector<std::string> labels;
        for (const auto& point : report_.tree.points)
            if (point.workload == workload) labels.push_back(point.label);
        return labels;
    }

    Table table(const std::string& title, const std::string& first_column) const {
        Table table;
        table.title = title;
        table.caution = caution(report_);
        table.align = "l";
        table.header = {first_column};
        for (const int arm : arms_) {
            table.align += 'r';
            table.header.push_back(arm_name(report_, arm));
        }
        return table;
    }

    /// Why an arm has no value of a metric; "" when a sample has one.
    std::string why_absent(const std::string& workload, const std::string& point, const std::string& metric,
                           const std::string& arm) const {
        std::string reason;
        bool booted = false;
        for (const auto& sample : report_.samples) {
            if (sample.arm != arm) continue;
            booted = true;
            if (sample.metric == metric && sample.workload == workload && sample.point == point &&
                !sample.reason.empty())
                reason = sample.reason;
        }
        if (!booted) return "no boot of " + arm + " counts";
        if (reason.empty()) return "not measured";
        return reason;
    }

    std::string cell(const std::string& workload, const std::string& point, const std::string& metric, int arm,
                     Notes& notes) const {
        const int series = find_series(report_, workload, point, metric);
        if (series >= 0)
            if (const auto* summary = find_summary(report_, arm, series); summary && summary->values > 0)
                return with_spread(summary->mean, summary->relative_sd,
                                   report_.input.series[static_cast<std::size_t>(series)].unit);
        return "absent " + notes.mark(why_absent(workload, point, metric, arm_name(report_, arm)));
    }

    /// Nothing when no arm has it.
    std::optional<std::vector<std::string>> derived_row(const std::string& label, const DerivedLine& line,
                                                        const std::string& workload, const std::string& point) const {
        std::vector<std::string> row{label};
        bool any = false;
        for (const int arm : arms_) {
            const auto value = derived_.value(line, workload, point, arm_name(report_, arm));
            any |= value.has_value();
            row.push_back(
                value ? fmt::format("{:#.3g} ±{}", value->mean, value->relative_sd ? share(*value->relative_sd) : "-")
                      : "absent");
        }
        if (!any) return std::nullopt;
        return row;
    }

    std::optional<Table> derived_sweep(const DerivedLine& line, const std::string& workload,
                                       const std::vector<std::string>& points) const {
        Table result = table(fmt::format("{}/{}: mean ± relative sd of the boot means", workload, line.label), "point");
        for (const auto& point : points)
            if (auto row = derived_row(point, line, workload, point)) result.rows.push_back(std::move(*row));
        if (result.rows.empty()) return std::nullopt;
        return result;
    }

    Table value_table(const std::string& workload, const std::string& point) const {
        Table result = table(
            fmt::format("{}{}{}: mean ± relative sd of the boot means", workload, point.empty() ? "" : " at ", point),
            "metric");
        Notes notes;
        for (const auto& metric : report_.tree.metrics) {
            if (metric.workload != workload) continue;
            std::vector<std::string> row{metric.name};
            for (const int arm : arms_) row.push_back(cell(workload, point, metric.name, arm, notes));
            result.rows.push_back(std::move(row));
            for (const auto& line : derived_.after(metric.name))
                if (auto extra = derived_row("  " + line.label, line, workload, point))
                    result.rows.push_back(std::move(*extra));
        }
        result.notes = notes.lines();
        add_score_note(workload, result);
        if (const auto line = multiplexed(workload); !line.empty()) result.notes.push_back(line);
        if (auto line = oversubscribed(report_, workload, point); !line.empty())
            result.notes.push_back(std::move(line));
        return result;
    }

    /// A table a metric; those that no arm has at any point are only listed.
    void add_sweep(const std::string& workload, const std::vector<std::string>& points, Section& section) const {
        std::map<std::string, std::string> absent;  // reason -> metrics
        for (const auto& metric : report_.tree.metrics) {
            if (metric.workload != workload) continue;
            const bool measured = std::any_of(points.begin(), points.end(), [&](const std::string& point) {
                return find_series(report_, workload, point, metric.name) >= 0;
            });
            if (measured) {
                section.parts.emplace_back(sweep_table(metric, points));
                if (is_primary(metric)) add_effects(workload, points, section);
                for (const auto& line : derived_.after(metric.name))
                    if (auto extra = derived_sweep(line, workload, points))
                        section.parts.emplace_back(std::move(*extra));
                continue;
            }
            auto& names = absent[why_absent(workload, points.front(), metric.name, arm_name(report_, arms_.front()))];
            names += (names.empty() ? "" : ", ") + metric.name;
        }
        Items items;
        for (const auto& [reason, names] : absent) items.items.push_back("absent, " + reason + ": " + names);
        if (!items.items.empty()) section.parts.emplace_back(std::move(items));
    }

    void add_effects(const std::string& workload, const std::vector<std::string>& points, Section& section) const {
        if (auto effects = sweep_effects(report_, workload, points)) section.parts.emplace_back(std::move(*effects));
    }

    bool is_primary(const store::NewMetric& metric) const {
        return std::any_of(report_.output.comparisons.begin(), report_.output.comparisons.end(), [&](const auto& c) {
            return c.primary && c.workload == metric.workload && c.metric == metric.name;
        });
    }

    Table sweep_table(const store::NewMetric& metric, const std::vector<std::string>& points) const {
        Table result =
            table(fmt::format("{}/{}: mean ± relative sd of the boot means", metric.workload, metric.name), "point");
        Notes notes;
        for (const auto& point : points) {
            const auto crowded = oversubscribed(report_, metric.workload, point);
            std::vector<std::string> row{point + (crowded.empty() ? "" : " " + notes.mark(crowded))};
            for (const int arm : arms_) row.push_back(cell(metric.workload, point, metric.name, arm, notes));
            result.rows.push_back(std::move(row));
        }
        result.notes = notes.lines();
        add_score_note(metric.workload, result);
        return result;
    }

    /// The means of the tables are not what the comparisons are made of.
    void add_score_note(const std::string& workload, Table& table) const {
        if (const auto note = score_note(report_, workload); !note.empty())
            table.notes.push_back("means of all iterations; " + note);
    }

    /// Counters that shared the hardware: their values are scaled.
    std::string multiplexed(const std::string& workload) const {
        double least = 1;
        std::string which;
        for (const auto& sample : report_.samples) {
            if (sample.workload != workload || !sample.enabled_ns || !sample.running_ns || *sample.enabled_ns <= 0)
                continue;
            const double counted = static_cast<double>(*sample.running_ns) / static_cast<double>(*sample.enabled_ns);
            if (counted < least) {
                least = counted;
                which = sample.metric;
            }
        }
        if (which.empty()) return "";
        return fmt::format(
            "counters shared the hardware: values are scaled by time enabled / time counted; the least "
            "counted, {}, for {} of the time",
            which, share(least));
    }

    const ReportInput& report_;
    std::vector<int> arms_;
    Derived derived_;
};

}  // namespace

std::vector<Section> result_sections(const ReportInput& report) {
    if (report.output.blocks == 0) return {};
    return Results(report).sections();
}

}  // namespace kab::report
