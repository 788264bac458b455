// Why each verdict is what it is: the estimate, the tests, the look, the alpha spent, what was left out and why.
#include <algorithm>
#include <map>

#include "common/score.h"
#include "daemon/report/compose.h"
#include "daemon/report/figures.h"
#include "daemon/report/gather.h"

namespace kab::report {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string arm_name(const ReportInput& report, int arm) {
    return report.input.arms[static_cast<std::size_t>(arm)].name;
}

std::string title_of(const ReportInput& report, const stats::Comparison& c) {
    std::string title =
        fmt::format("{} against {}, {}/{}", arm_name(report, c.arm), arm_name(report, c.against), c.workload, c.metric);
    const auto& point = series_of(report, c).point;
    if (c.series >= 0 && !point.empty()) title += " at " + point;
    if (c.series < 0) title += ", mean over the points";
    return title;
}

/// What the numbers compared are.
std::string score_of(const ReportInput& report, const stats::Comparison& c) {
    const auto& series = series_of(report, c);
    const bool log = series.scale == Scale::log;
    std::string what = fmt::format("the {} of its timed iterations", score_word(series.quantile));
    if (log) what = series.quantile ? "the logarithm of " + what : "the mean logarithm of its timed iterations";
    return fmt::format("score of a boot: {}; d = score({}) - score({}) in each of {} block{}", what,
                       arm_name(report, c.arm), arm_name(report, c.against), c.n, c.n == 1 ? "" : "s");
}

std::string t_row(const stats::Comparison& c) {
    if (c.exact) return "d does not vary: the sign test over blocks takes its place";
    std::string text = fmt::format("t = {:.3f} with {:.4g} degrees of freedom, sd of d {:.4g}", c.t, c.df, c.sd);
    if (c.p) text += fmt::format("; p {} for this look alone", p_value(*c.p));
    return text;
}

std::string p_row(const stats::Comparison& c) {
    if (!c.p_sequential) return "";
    std::string text = fmt::format("{} counting the looks", p_value(*c.p_sequential));
    if (c.p_adjusted)
        text += fmt::format(", {} adjusted for the number of comparisons ({})", p_value(*c.p_adjusted),
                            c.primary ? "Holm, over the primary ones" : "Benjamini-Hochberg, over the secondary ones");
    return text;
}

std::string rank_row(const ReportInput& report, const stats::Comparison& c) {
    if (!c.p_rank) return "";
    std::string text = fmt::format("exact signed-rank p {}", p_value(*c.p_rank));
    if (c.rank_estimate)
        text += fmt::format("; Hodges-Lehmann {} ({:.4g}% interval {}, {})",
                            effect(c.rank_estimate->value, series_of(report, c)), 100 * c.rank_estimate->level,
                            interval(*c.rank_estimate, series_of(report, c)),
                            unbroken(fmt::format("n = {} block{}", c.n, c.n == 1 ? "" : "s")));
    return text + (c.fragile ? ": it disagrees with t, so this is fragile" : ": it does not disagree with t");
}

/// Without a margin, or with one of 0.
std::string no_margin(const ReportInput& report, const stats::Comparison& c) {
    if (!c.margin || !report.input.design.exact)
        return std::string(c.margin ? "margin 0" : "no margin for this metric") +
               ": nothing is material, and equivalent is only what is the same in every block";
    if (c.verdict == stats::Verdict::equivalent) return "margin 0, equivalent is only what is the same";
    return std::string("margin 0, any difference that is shown exceeds it") + (c.material ? ": material" : "");
}

std::string equivalence_row(const ReportInput& report, const stats::Comparison& c) {
    if (!(c.margin.value_or(0) > 0)) return no_margin(report, c);
    const auto& series = series_of(report, c);
    const std::string margin = series.scale == Scale::log
                                   ? fmt::format("ratios {} to {}", ratio(1 / (1 + *c.margin)), ratio(1 + *c.margin))
                                   : "differences up to " + quantity(*c.margin, series.unit);
    std::string text = "margin: " + margin;
    if (c.p_equivalence) text += fmt::format("; two one-sided tests, p {}", p_value(*c.p_equivalence));
    if (c.material) text += "; the whole interval lies beyond it: material";
    return text;
}

std::string look_row(const ReportInput& report, const stats::Comparison& c) {
    const auto& looks = report.input.design.looks;
    std::string text = report.look < 0
                           ? fmt::format("no planned one: a preview after {} blocks", report.output.blocks)
                           : fmt::format("{} of {} ({} blocks)", report.look + 1, looks.size(), report.output.blocks);
    if (c.spent > 0) text += fmt::format("; two-sided alpha spent until then: {:.4g}", c.spent);
    if (c.estimate && !c.exact) text += fmt::format(", so that the interval is at {:.4g}%", 100 * c.estimate->level);
    if (c.decided_at && *c.decided_at != report.look)
        text += fmt::format("; the verdict fell at look {}", *c.decided_at + 1);
    return text;
}

Rows rows_of(const ReportInput& report, const stats::Comparison& c) {
    Rows rows;
    const auto add = [&](const char* label, const std::string& text) {
        if (!text.empty()) rows.emplace_back(label, text);
    };
    std::string verdict = to_string(c.verdict);
    if (c.control) verdict += " (a control: a gate, no question)";
    if (c.relinked) verdict += " (the baseline with its code moved: no question)";
    if (c.same_code) verdict += " (the same machine code: a control)";
    add("verdict", verdict + (c.reason.empty() ? "" : ": " + c.reason));
    add("estimate", evidence(report, c));
    if (!c.estimate) return rows;
    add("from", score_of(report, c));
    add("t", t_row(c));
    add("p", p_row(c));
    add("ranks", rank_row(report, c));
    add("margin", equivalence_row(report, c));
    add("look", look_row(report, c));
    if (c.detectable)
        add("power", fmt::format("{} would have been found with 90% power",
                                 series_of(report, c).scale == Scale::log
                                     ? fmt::format("a ratio of {} or {}", ratio(1 + *c.detectable),
                                                   ratio(1 / (1 + *c.detectable)))
                                     : "a difference of " + quantity(*c.detectable, series_of(report, c).unit)));
    return rows;
}

/// Whatever is in no figure, one line each.
std::vector<std::string> left_out(const ReportInput& report) {
    std::vector<std::string> lines;
    for (const auto& block : report.tree.blocks)
        if (block.status == "excluded")
            lines.push_back(fmt::format("block {}, try {}: {}", block.number, block.repetition, block.detail));
    for (const auto& boot : report.boots)
        if (kernel_fault(boot.outcome))
            lines.push_back(fmt::format("block {}, {}: {}, so it has no pair: {}", boot.block, boot.arm, boot.outcome,
                                        boot.detail));
    std::map<std::string, int> absent;
    std::size_t warmups = 0;
    for (const auto& sample : report.samples) {
        if (sample.warmup)
            ++warmups;
        else if (!sample.value)
            ++absent[fmt::format("{}/{} of {}: absent, {}", sample.workload, sample.metric, sample.arm, sample.reason)];
    }
    for (const auto& [what, count] : absent) lines.push_back(fmt::format("{} x {}", count, what));
    if (warmups > 0) lines.push_back(fmt::format("{} samples of warm-up iterations, which never count", warmups));
    for (const auto& gate : report.input.failed_gates) lines.push_back("gate: " + gate);
    if (lines.empty()) lines.emplace_back("nothing");
    return lines;
}

/// What was compiled for each arm; in the order of the arms an increment on those before it.
Pairs builds(const ReportInput& report) {
    Pairs pairs;
    for (const int arm : shown_arms(report)) {
        const auto& kernel = report.kernels[static_cast<std::size_t>(arm)];
        std::string text = "not built";
        if (kernel.objects > 0)
            text = fmt::format("{} object{} compiled in {}, {} of CPU time", kernel.objects,
                               kernel.objects == 1 ? "" : "s", quantity(static_cast<double>(kernel.wall_ns), "ns"),
                               quantity(static_cast<double>(kernel.cpu_ns), "ns"));
        else if (!kernel.path.empty())
            text = "nothing to compile: given as an image, or in the cache already";
        pairs.rows.emplace_back(arm_name(report, arm), text);
    }
    return pairs;
}

}  // namespace

std::vector<Section> explain_sections(const ReportInput& report) {
    std::vector<Section> sections;
    Section why{"Why", {}};
    why.parts.emplace_back(Paragraph{"How each verdict came about; docs/statistics.md has the method. The evaluation " +
                                     report.output.sentence + "."});
    if (const auto emulated = caution(report); !emulated.empty()) why.parts.emplace_back(Paragraph{emulated + "."});
    for (const auto& comparison : report.output.comparisons) {
        why.parts.emplace_back(Paragraph{title_of(report, comparison) + ":"});
        why.parts.emplace_back(Pairs{rows_of(report, comparison)});
    }
    sections.push_back(std::move(why));
    sections.push_back({"What was left out", {Items{left_out(report)}}});
    sections.push_back({"How the kernels were built", {builds(report)}});
    return sections;
}

}  // namespace kab::report
