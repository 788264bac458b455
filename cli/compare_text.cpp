#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cli/compare_report.h"
#include "daemon/report/figures.h"
#include "daemon/stats/stage.h"
#include "daemon/stats/words.h"

namespace kab::cli {
namespace {

/// Decimals that show `figures` of a number.
int decimals_of(double value, int figures) {
    if (value == 0 || !std::isfinite(value)) return 0;
    return std::clamp(figures - 1 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 9);
}

std::string with_commas(std::string digits) {
    const auto point = std::min(digits.find('.'), digits.size());
    const std::size_t first = digits.front() == '-' ? 1 : 0;
    for (std::size_t i = point; i > first + 3; i -= 3) digits.insert(i - 3, ",");
    return digits;
}

/// "12.34 ±0.41", both to the same decimals: four figures of the mean, two of a spread that is smaller still.
std::string mean_text(const stats::Summary& summary) {
    const auto sd = sd_of(summary);
    const double size = std::abs(summary.mean);
    if (size >= 1e12 || (size > 0 && size < 1e-6))
        return fmt::format("{:.4g} ±{}", summary.mean, sd ? fmt::format("{:.2g}", *sd) : "-");
    if (size >= 1e9)
        return fmt::format("{:.2f} ±{} G", summary.mean / 1e9, sd ? fmt::format("{:.2f}", *sd / 1e9) : "-");
    int decimals = decimals_of(summary.mean, 4);
    if (summary.mean == std::round(summary.mean)) decimals = size == 0 || size >= 100 ? 0 : std::min(decimals, 1);
    if (sd && *sd > 0) decimals = std::min(std::max(decimals, decimals_of(*sd, 2)), decimals_of(summary.mean, 6));
    if (sd && *sd > 0 && size == 0) decimals = decimals_of(*sd, 2);
    const auto number = [&](double value) { return with_commas(fmt::format("{:.{}f}", value, decimals)); };
    return fmt::format("{} ±{}", number(summary.mean), sd ? number(*sd) : "-");
}

class Composer {
  public:
    explicit Composer(const CompareReport& report)
        : report_(report),
          arms_(report.prepared.input.arms),
          primaries_(std::count_if(report.output.comparisons.begin(), report.output.comparisons.end(),
                                   [](const stats::Comparison& comparison) { return comparison.primary; })) {}

    report::Document compose() {
        report::Document document;
        document.title = arms_.size() == 2 ? fmt::format("{} against {}", arms_[1].name, arms_[0].name)
                                           : fmt::format("{} arms against {}", arms_.size() - 1, arms_[0].name);
        report::Section first;
        first.parts.emplace_back(sentences());
        first.parts.emplace_back(values());
        for (std::size_t arm = 1; arm < arms_.size(); ++arm)
            first.parts.emplace_back(comparisons(static_cast<int>(arm)));
        document.sections.push_back(std::move(first));
        document.sections.push_back({"how far this goes", {report::Items{limits()}}});
        if (auto items = remarks(); !items.empty())
            document.sections.push_back({"assumed, and not used", {report::Items{std::move(items)}}});
        document.sections.push_back({"data", {sources()}});
        return document;
    }

  private:
    std::string name_of(int series) const {
        const auto& one = report_.prepared.input.series[static_cast<std::size_t>(series)];
        const std::string name = one.workload.empty() ? one.metric : one.workload + " " + one.metric;
        return (one.primary ? "*" : "") + name;
    }

    report::Items sentences() const {
        report::Items items;
        for (const auto& comparison : report_.output.comparisons)
            items.items.push_back(compare_sentence(report_, comparison));
        if (primaries_ > 1)
            items.items.push_back(
                fmt::format("over the {} primary comparisons (*): {}", primaries_, to_string(report_.output.verdict)));
        return items;
    }

    report::Table values() const {
        report::Table table;
        table.title = fmt::format("Mean ± standard deviation of the {}s", unit_of_count(report_));
        table.header = {"metric", "unit"};
        table.align = "ll";
        for (const auto& arm : arms_) {
            table.header.push_back(arm.name);
            table.align += 'r';
        }
        for (std::size_t s = 0; s < report_.prepared.input.series.size(); ++s) {
            const auto& unit = report_.prepared.input.series[s].unit;
            std::vector<std::string> row{name_of(static_cast<int>(s)), unit.empty() ? "-" : unit};
            for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
                const auto* summary = summary_of(report_, static_cast<int>(arm), static_cast<int>(s));
                row.push_back(summary == nullptr ? "absent" : report::unbroken(mean_text(*summary)));
            }
            table.rows.push_back(std::move(row));
        }
        return table;
    }

    report::Table comparisons(int arm) const {
        report::Table table;
        table.title = fmt::format("{} against {}", arms_[static_cast<std::size_t>(arm)].name, arms_[0].name);
        table.header = {"metric", "ratio", "interval", "p", "rank p", "n", "verdict"};
        table.align = "lrrrrrl";
        std::vector<std::string> notes;
        for (const auto& comparison : report_.output.comparisons)
            if (comparison.arm == arm) table.rows.push_back(row_of(comparison, notes));
        table.notes = notes_of(std::move(notes), arm);
        return table;
    }

    std::vector<std::string> row_of(const stats::Comparison& comparison, std::vector<std::string>& notes) const {
        const auto& series = series_of(report_, comparison);
        std::string counts;
        for (const int n : counts_of(report_, comparison)) counts += (counts.empty() ? "" : "+") + std::to_string(n);
        std::vector<std::string> row{name_of(comparison.series), "-", "-", "-", "-", counts,
                                     verdict(comparison, notes)};
        if (const auto& estimate = comparison.estimate) {
            row[1] = report::unbroken(report::effect(estimate->value, series));
            row[2] = comparison.exact ? "exact" : report::interval(*estimate, series);
            if (series.scale == Scale::linear) note(notes, "with a sign: a difference, not a ratio");
        }
        if (comparison.p_adjusted) row[3] = report::p_value(*comparison.p_adjusted);
        if (comparison.p_rank) row[4] = report::p_value(*comparison.p_rank);
        return row;
    }

    static void note(std::vector<std::string>& notes, const char* text) {
        if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.emplace_back(text);
    }

    static std::string verdict(const stats::Comparison& comparison, std::vector<std::string>& notes) {
        if (!comparison.estimate) return "-";
        if (comparison.verdict == stats::Verdict::none) return "-";
        std::string text = to_string(comparison.verdict);
        if (comparison.material) {
            text += " !";
            note(notes, "! the whole interval lies beyond the margin");
        }
        if (comparison.fragile) {
            text += " ~";
            note(notes, "~ fragile: the rank test does not agree");
        }
        return text;
    }

    std::vector<std::string> notes_of(std::vector<std::string> marks, int arm) const {
        std::vector<std::string> levels[2];
        for (const auto& comparison : report_.output.comparisons) {
            if (comparison.arm != arm || !comparison.estimate || comparison.exact) continue;
            auto& list = levels[comparison.primary ? 0 : 1];
            const auto level = fmt::format("{:.4g}%", 100 * comparison.estimate->level);
            if (std::find(list.begin(), list.end(), level) == list.end()) list.push_back(level);
        }
        const auto joined = [](const std::vector<std::string>& list) {
            std::string text;
            for (const auto& one : list) text += (text.empty() ? "" : " or ") + one;
            return text;
        };
        std::vector<std::string> notes;
        if (!levels[0].empty())
            notes.push_back(fmt::format("* primary: interval {}{}", joined(levels[0]),
                                        primaries_ > 1 ? ", p adjusted by Holm over the primary comparisons" : ""));
        if (!levels[1].empty())
            notes.push_back(fmt::format(
                "the others: intervals {} each, p by Benjamini-Hochberg; a difference needs both", joined(levels[1])));
        const auto equivalent = [&](const stats::Comparison& comparison) {
            return comparison.arm == arm && !comparison.primary && comparison.verdict == stats::Verdict::equivalent;
        };
        if (std::any_of(report_.output.comparisons.begin(), report_.output.comparisons.end(), equivalent))
            notes.push_back(fmt::format("equivalent of the others: at {:.4g}% each, not adjusted for their number",
                                        100 * report_.prepared.input.design.alpha));
        notes.push_back(
            report_.prepared.blocks
                ? "ratio of geometric means, from t on the paired differences; rank p: signed-rank"
                : "ratio of geometric means, from Welch's t; rank p: Mann-Whitney; neither rank p is adjusted");
        notes.insert(notes.end(), marks.begin(), marks.end());
        return notes;
    }

    std::vector<std::string> limits() const {
        std::vector<std::string> items;
        if (report_.prepared.blocks) {
            items.emplace_back(
                "Paired in blocks: drift that meets both arms of a block alike cancels. That the arms of a block ran "
                "one "
                "after the other, in random order, is for you to know; the file cannot tell.");
        } else {
            items.emplace_back(
                "Not paired: there are no blocks. Drift (temperature, load, the order in which things ran) cannot be "
                "told from a difference.");
            items.emplace_back(
                "Every run is taken as independent. Runs of one process or one boot share its luck (memory layout, "
                "placement); what varies from boot to boot is not seen, and the interval is too narrow by that.");
            items.emplace_back(
                "Both are cured by blocks: run the arms by turns, a boot or process each, and number the turns in a "
                "column 'block'. `kab run` does that for kernels.");
        }
        items.emplace_back("There is no control arm: how much two measurements of the same thing differ is not known.");
        return items;
    }

    std::vector<std::string> remarks() const {
        auto items = warnings_of(report_);
        for (const auto& absent : report_.prepared.absent)
            items.push_back(fmt::format("{}: {} of {} absent: {}", arms_[static_cast<std::size_t>(absent.arm)].name,
                                        stats::counted(absent.runs, "value"), absent.metric, absent.reason));
        items.insert(items.end(), report_.prepared.notes.begin(), report_.prepared.notes.end());
        return items;
    }

    report::Part sources() const {
        report::Pairs pairs;
        for (const auto& source : report_.sources) pairs.rows.emplace_back(source.file, source.format);
        const auto& design = report_.prepared.input.design;
        pairs.rows.emplace_back(
            "decide", fmt::format("margin {}, alpha {:g}", stats::plain_percent(design.margin), design.alpha));
        return pairs;
    }

    const CompareReport& report_;
    const std::vector<stats::ArmInfo>& arms_;
    std::ptrdiff_t primaries_;
};

}  // namespace

report::Document compare_document(const CompareReport& report) {
    return Composer(report).compose();
}

}  // namespace kab::cli
