// An arm against the one it is judged against, metric by metric.
#include <algorithm>
#include <set>

#include "daemon/report/compose.h"
#include "daemon/report/figures.h"
#include "daemon/stats/stage.h"

namespace kab::report {
namespace {

using Levels = std::set<std::string>;

std::string joined(const Levels& levels) {
    std::string text;
    for (const auto& level : levels) text += (text.empty() ? "" : " or ") + level;
    return text;
}

std::string level_text(const stats::Estimate& estimate) {
    return fmt::format("{:.4g}%", 100 * estimate.level);
}

class Tables {
  public:
    Tables(const ReportInput& report, const std::string& workload, int arm) : report_(report), arm_(arm) {
        // Of an arm that could not be booted only the primary is worth a row: why the others have no value is clear.
        const auto& status = report.tree.arms[static_cast<std::size_t>(arm)].status;
        const bool gone = status == "stopped" || status == "failed";
        for (const auto& comparison : report.output.comparisons)
            if (comparison.arm == arm && comparison.workload == workload &&
                (comparison.estimate || comparison.primary || !gone))
                rows_.push_back(&comparison);
    }

    bool empty() const { return rows_.empty(); }

    Table verdicts() {
        Table table = start();
        table.header = {"metric", "ratio", "interval", "adj. p", "n", "verdict"};
        table.align = "lrrrrl";
        std::string above;
        for (const auto* comparison : rows_) table.rows.push_back(verdict_row(*comparison, above));
        table.notes = notes();
        return table;
    }

    /// Nothing without a rank test.
    std::optional<Table> ranks() const {
        Table table = start();
        table.title += ": raw p, and ranks beside t";
        table.header = {"metric", "p of t", "rank p", "estimate", "interval", "level"};
        table.align = "lrrrrr";
        std::string above;
        for (const auto* comparison : rows_)
            if (comparison->p && comparison->p_rank) table.rows.push_back(rank_row(*comparison, above));
        if (table.rows.empty()) return std::nullopt;
        table.notes.emplace_back(
            "p for this look alone, adjusted for nothing; the signed-rank test, with Hodges and Lehmann's estimate, "
            "only "
            "checks t: where it disagrees, ~");
        return table;
    }

  private:
    Table start() const {
        const auto& arms = report_.input.arms;
        const auto& info = arms[static_cast<std::size_t>(arm_)];
        Table table;
        table.title = fmt::format("{} against {}", info.name, arms[static_cast<std::size_t>(info.against)].name);
        table.caution = caution(report_);
        return table;
    }

    /// Points below the mean of their metric, or below its first point, are only indented.
    std::string name_of(const stats::Comparison& comparison, std::string& above) const {
        const auto& point = series_of(report_, comparison).point;
        const bool of_sweep = comparison.series >= 0 && !point.empty();
        if (of_sweep && above == comparison.metric) return "  " + point;
        above = comparison.metric;
        return (comparison.primary ? "*" : "") + comparison.metric +
               (comparison.series < 0 ? ", mean"
                : of_sweep            ? ", " + point
                                      : "");
    }

    std::vector<std::string> verdict_row(const stats::Comparison& comparison, std::string& above) {
        const auto& series = series_of(report_, comparison);
        std::vector<std::string> row{name_of(comparison, above), "-", "-", "-", std::to_string(comparison.n),
                                     verdict(comparison)};
        if (const auto& estimate = comparison.estimate) {
            const bool log = series.scale == Scale::log;
            differences_ |= !log;
            row[1] = effect(estimate->value, series);
            row[2] = comparison.exact ? "exact" : interval(*estimate, series);
            if (!comparison.exact) levels_[comparison.primary ? 0 : 1].insert(level_text(*estimate));
            const double none = log ? 1 : 0;
            const bool excludes = estimate->low > none || estimate->high < none;
            const double level = comparison.primary ? report_.input.design.alpha : stats::secondary_q;
            if (comparison.p_adjusted && excludes != (*comparison.p_adjusted <= level))
                unlike_[comparison.primary ? 0 : 1] = true;
        }
        if (comparison.p_adjusted)
            row[3] = p_value(*comparison.p_adjusted);
        else if (comparison.p)
            row[3] = p_value(*comparison.p) + " raw";
        return row;
    }

    std::vector<std::string> rank_row(const stats::Comparison& comparison, std::string& above) const {
        const auto& series = series_of(report_, comparison);
        std::vector<std::string> row{
            name_of(comparison, above), p_value(*comparison.p), p_value(*comparison.p_rank), "-", "-", "-"};
        if (const auto& estimate = comparison.rank_estimate) {
            row[3] = effect(estimate->value, series);
            row[4] = interval(*estimate, series);
            row[5] = level_text(*estimate);
        }
        return row;
    }

    std::string verdict(const stats::Comparison& comparison) {
        const bool open =
            comparison.verdict == stats::Verdict::pending || comparison.verdict == stats::Verdict::inconclusive;
        const auto& status = report_.tree.arms[static_cast<std::size_t>(arm_)].status;
        if (open && status == "stopped") return "stopped";
        if (open && status == "failed") return "not built";
        if (comparison.verdict == stats::Verdict::pending && finished(report_)) return "no verdict";
        if (comparison.same_code) return "same code";
        if (comparison.verdict == stats::Verdict::none) return "-";
        std::string text = stats::to_string(comparison.verdict);
        const bool directed =
            comparison.verdict == stats::Verdict::improved || comparison.verdict == stats::Verdict::regressed;
        if (directed && comparison.material) text += " !";
        if (comparison.fragile) text += " ~";
        material_ |= directed && comparison.material;
        fragile_ |= comparison.fragile;
        return text;
    }

    std::vector<std::string> notes() const {
        std::vector<std::string> notes;
        const bool primary = !levels_[0].empty(), others = !levels_[1].empty();
        std::string text;
        if (primary)
            text = fmt::format("* the primary metric: interval {}, p adjusted by Holm over the primary comparisons; ",
                               joined(levels_[0]));
        if (others)
            text += fmt::format(
                "{}intervals {} each, not adjusted for the number of metrics, p by "
                "Benjamini-Hochberg; ",
                primary ? "the others: " : "", joined(levels_[1]));
        notes.push_back(text + "n in blocks");
        if (auto note = score_note(report_, rows_.front()->workload); !note.empty()) notes.push_back(std::move(note));
        for (const auto* row : rows_)
            if (row->decided_at && report_.look >= 0 && *row->decided_at < report_.look)
                notes.push_back(
                    fmt::format("the verdict of * fell at look {} and is not taken back; the figures are "
                                "those of look {}",
                                *row->decided_at + 1, report_.look + 1));
        const auto equivalent = [](const stats::Comparison* row) {
            return !row->primary && row->verdict == stats::Verdict::equivalent;
        };
        if (std::any_of(rows_.begin(), rows_.end(), equivalent))
            notes.push_back(fmt::format("equivalent of the others: at {:.4g}% each, not adjusted for their number",
                                        100 * report_.input.design.alpha));
        if (material_) notes.emplace_back("! material: the whole interval lies beyond the margin");
        if (differences_) notes.emplace_back("with a sign: a difference, not a ratio, as the metric can be 0");
        if (fragile_) notes.emplace_back("~ fragile: the rank test does not agree");
        if (unlike_[0])
            notes.push_back(
                fmt::format("the verdict of * follows its interval, made at alpha/k for k primary comparisons; Holm's "
                            "p can fall on the other side of {:.4g}",
                            report_.input.design.alpha));
        if (unlike_[1])
            notes.emplace_back(
                "a difference of the others needs both, an interval without no-change and an adjusted p");
        return notes;
    }

    const ReportInput& report_;
    int arm_;
    std::vector<const stats::Comparison*> rows_;
    Levels levels_[2];                 ///< of the primary, of the others
    bool unlike_[2] = {false, false};  ///< interval and adjusted p fall on different sides
    bool differences_ = false, material_ = false, fragile_ = false;
};

}  // namespace

std::vector<Table> comparison_tables(const ReportInput& report, const std::string& workload, int arm) {
    if (report.input.arms[static_cast<std::size_t>(arm)].against < 0) return {};
    Tables tables(report, workload, arm);
    if (tables.empty()) return {};
    std::vector<Table> all{tables.verdicts()};
    // A preview has too few blocks for ranks to say anything.
    if (report.look >= 0)
        if (auto ranks = tables.ranks()) all.push_back(std::move(*ranks));
    return all;
}

}  // namespace kab::report
