// How far the figures can be trusted: failures, the control arm, noise, what was left out, how to do it again.
#include <algorithm>
#include <cmath>
#include <map>

#include "daemon/report/checks.h"
#include "daemon/report/compose.h"
#include "daemon/report/conditions.h"
#include "daemon/report/figures.h"
#include "daemon/report/gather.h"
#include "daemon/stats/fisher.h"

namespace kab::report {
namespace {

std::string arm_name(const ReportInput& report, int arm) {
    return report.input.arms[static_cast<std::size_t>(arm)].name;
}

/// "kernel-crash 2, hang 1"
std::string outcomes(const ReportInput& report, const std::string& arm) {
    std::map<std::string, int> counts;
    for (const auto& boot : report.boots)
        if (boot.arm == arm && kernel_fault(boot.outcome)) ++counts[boot.outcome];
    std::string text;
    for (const auto& [outcome, count] : counts)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", outcome, count);
    return text.empty() ? "-" : text;
}

Table failure_table(const ReportInput& report) {
    Table table;
    table.title = "Boots that failed through the kernel or the workload, excluded blocks included";
    table.caution = caution(report);
    table.header = {"arm", "failed", "boots", "Fisher's p", "outcomes"};
    table.align = "lrrrl";
    for (std::size_t i = 0; i < report.input.arms.size(); ++i) {
        const auto& arm = report.input.arms[i];
        std::string p = "-";
        for (const auto& failure : report.output.failures)
            if (failure.arm == static_cast<int>(i) && failure.p) p = p_value(*failure.p);
        table.rows.push_back(
            {arm.name, std::to_string(arm.failed), std::to_string(arm.boots), p, outcomes(report, arm.name)});
    }
    return table;
}

std::string block_name(std::int64_t number) {
    return number == check_block_number ? "the check block" : fmt::format("block {}", number);
}

std::vector<std::string> console_lines(const ReportInput& report) {
    std::vector<std::string> lines;
    for (const auto& event : report.console) {
        lines.push_back(fmt::format("{}: {} ({}) in {} boot{}, first in {}, console line {}: {}", event.arm, event.kind,
                                    event.severity, event.boots, event.boots == 1 ? "" : "s", block_name(event.block),
                                    event.line, event.text.substr(0, event.text.find('\n'))));
    }
    return lines;
}

struct Attempts {
    std::int64_t infra_errors = 0, all = 0;  ///< that ended, and not with the daemon or by a wish
};

/// How many attempts of each arm ended for want of infrastructure, and whether that of an arm is more than chance: what
/// goes for a fault of ours can be brought about by a kernel.
std::string infra_errors_by_arm(const ReportInput& report) {
    std::map<std::int64_t, std::string> arm_of_boot;
    for (const auto& boot : report.tree.boots) arm_of_boot[boot.id] = boot.arm;
    std::map<std::string, Attempts> counts;
    for (const auto& attempt : report.tree.attempts) {
        if (attempt.outcome.empty() || attempt.lost || attempt.outcome == "cancelled") continue;
        auto& count = counts[arm_of_boot[attempt.boot_id]];
        ++count.all;
        if (attempt.outcome == "infra-error") ++count.infra_errors;
    }
    std::string text, doubts;
    for (const auto& arm : report.input.arms) {
        const auto& [failed, all] = counts[arm.name];
        text += fmt::format("{}{} {} of {} attempts", text.empty() ? "; by arm: " : ", ", arm.name, failed, all);
        if (arm.against < 0) continue;
        const auto& other = report.input.arms[static_cast<std::size_t>(arm.against)];
        const auto& [others_failed, others] = counts[other.name];
        if (all == 0 || others == 0 || failed * others <= others_failed * all) continue;
        const double p = stats::fisher_exact(failed, all, others_failed, others);
        if (p < 0.05)
            doubts += fmt::format(
                ". Those of {} are more than chance gives beside {} (Fisher's exact p {}): its kernel "
                "may bring them about",
                arm.name, other.name, p_value(p));
    }
    return text + doubts;
}

std::string retries(const ReportInput& report) {
    std::map<std::int64_t, std::size_t> of_boot;
    std::size_t again = 0, lost = 0;
    std::map<std::string, int> reasons;
    for (const auto& attempt : report.tree.attempts) {
        if (of_boot[attempt.boot_id]++ > 0) ++again;
        if (attempt.lost) ++lost;
        if (attempt.outcome == "infra-error") ++reasons[attempt.detail];
    }
    if (again == 0 && reasons.empty()) return "";
    std::string text =
        fmt::format("{} boot{} tried again for want of infrastructure", again, again == 1 ? " was" : "s were");
    if (lost > 0) text += fmt::format(", {} of them because the daemon went away", lost);
    for (const auto& [reason, count] : reasons) text += fmt::format("; {} x \"{}\"", count, reason);
    if (!reasons.empty()) text += infra_errors_by_arm(report);
    return text + ". No fault of a kernel is retried.";
}

/// Emulators started anew within an attempt: by arm, so that nobody need believe they were no fault of a kernel.
std::string false_starts(const ReportInput& report) {
    std::map<std::string, std::int64_t> counts;
    for (const auto& boot : report.boots) counts[boot.arm] += boot.false_starts;
    std::string text;
    std::int64_t all = 0;
    for (const auto& arm : report.input.arms) {
        all += counts[arm.name];
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", arm.name, counts[arm.name]);
    }
    if (all == 0) return "";
    return "false starts, where the emulator was started anew before anything was measured: " + text;
}

std::vector<std::string> excluded(const ReportInput& report) {
    const auto& blocks = report.tree.blocks;
    std::vector<std::string> lines;
    for (const auto& block : blocks) {
        if (block.status != "excluded") continue;
        const bool again = std::any_of(blocks.begin(), blocks.end(), [&](const store::BlockRow& other) {
            return other.number == block.number && other.status == "complete";
        });
        lines.push_back(fmt::format("{}{} is excluded{}: {}", block_name(block.number),
                                    block.repetition > 1 ? fmt::format(" (try {})", block.repetition) : "",
                                    again ? " and was booted again" : "", block.detail));
    }
    if (lines.size() > 1)
        lines.push_back(fmt::format("tries at a block that were excluded, by cause: {}", excluded_by_cause(report)));
    return lines;
}

/// Blocks booted after the last look: stored, but in no figure here.
std::string unused(const ReportInput& report) {
    if (report.look < 0) return "";
    const int last = report.input.design.looks[static_cast<std::size_t>(report.look)];
    const auto count =
        std::count_if(report.tree.blocks.begin(), report.tree.blocks.end(),
                      [&](const store::BlockRow& b) { return b.status == "complete" && b.number > last; });
    if (count == 0) return "";
    return fmt::format("{} complete block{} came after the last look (at {} blocks) and {} in no figure here", count,
                       count == 1 ? "" : "s", last, count == 1 ? "is" : "are");
}

/// "a ratio of 1.078 or 0.928"
std::string least_found(const ReportInput& report, const stats::Comparison& comparison) {
    const auto& series = series_of(report, comparison);
    const double least = *comparison.detectable;
    if (series.scale == Scale::linear) return "a difference of " + quantity(least, series.unit);
    if (least > 9) return "only a ratio beyond 10 or 0.1";
    return fmt::format("a ratio of {} or {}", ratio(1 + least), ratio(1 / (1 + least)));
}

void control_lines(const ReportInput& report, std::vector<std::string>& lines) {
    for (const auto& comparison : report.output.comparisons) {
        if (!comparison.control || !comparison.primary) continue;
        const auto& estimate = comparison.estimate;
        const double none = series_of(report, comparison).scale == Scale::log ? 1 : 0;
        const bool differs = estimate && (estimate->low > none || estimate->high < none);
        std::string text = fmt::format("control {} (the image of {} under another name), {}/{}: {}",
                                       arm_name(report, comparison.arm), arm_name(report, comparison.against),
                                       comparison.workload, comparison.metric, evidence(report, comparison));
        if (estimate && !differs && comparison.exact && report.input.design.exact)
            text += ": exactly the same, as it must be";
        else if (estimate)
            text += differs ? ": IT DIFFERS" : ": not shown to differ";
        if (comparison.detectable && estimate)
            text += fmt::format("; the noise floor: {} would have shown at that level of {:.4g}% with 90% power",
                                least_found(report, comparison), 100 * estimate->level);
        lines.push_back(text);
    }
}

/// What the placement of code alone does, and so no claim may be made of.
void relinked_lines(const ReportInput& report, std::vector<std::string>& lines) {
    for (const auto& comparison : report.output.comparisons) {
        if (!comparison.relinked || !comparison.primary) continue;
        lines.push_back(fmt::format("placement of code, {} ({} with its code moved), {}/{}: {}",
                                    arm_name(report, comparison.arm), arm_name(report, comparison.against),
                                    comparison.workload, comparison.metric, evidence(report, comparison)));
    }
}

/// "2 iterations a boot would be best"; empty when that is not known.
std::string advice(const stats::VarianceComponents& part) {
    if (!part.best_iterations) return "";
    return fmt::format("at this noise and cost, {}{} iteration{} a boot would be best", *part.best_iterations,
                       *part.best_iterations == stats::most_best_iterations ? " or more" : "",
                       *part.best_iterations == 1 ? "" : "s");
}

void noise_lines(const ReportInput& report, std::vector<std::string>& lines) {
    std::string of_sweep;
    for (const auto& part : report.output.components) {
        const auto& series = report.input.series[static_cast<std::size_t>(part.series)];
        if (!series.primary) continue;
        const auto name = series.workload + "/" + series.metric + (series.point.empty() ? "" : " at " + series.point);
        const auto spread = [&](std::optional<double> variance) -> std::string {
            if (!variance) return "unknown";
            const double sd = std::sqrt(std::max(0.0, *variance));
            return series.scale == Scale::log ? share(sd) : quantity(sd, series.unit);
        };
        // A trend over the iterations of a boot is among the warnings, with its p, when there is one.
        std::string text =
            fmt::format("noise of {}: sd {} between blocks, {} between boots, {} between iterations of a boot", name,
                        spread(part.block), spread(part.boot), spread(part.iteration));
        const auto best = advice(part);
        const bool of_mean = !series.point.empty() && !series.apart;
        if (!of_mean && !best.empty()) text += "; " + best;
        if (of_mean) of_sweep = best;
        lines.push_back(text);
    }
    if (!of_sweep.empty()) lines.push_back("for the mean over the points, " + of_sweep);
    for (const auto& comparison : report.output.comparisons) {
        if (!comparison.primary || !comparison.question() || !comparison.detectable) continue;
        lines.push_back(fmt::format("{} against {}, {}/{}: {} would have been found with 90% power at n = {} blocks",
                                    arm_name(report, comparison.arm), arm_name(report, comparison.against),
                                    comparison.workload, comparison.metric, least_found(report, comparison),
                                    comparison.n));
    }
}

/// No line ends within "p = 0.012".
std::string p_unbroken(std::string text) {
    for (const std::string p : {"p = ", "p < "})
        for (auto at = text.find(p); at != std::string::npos; at = text.find(p, at + 1))
            text.replace(at, p.size(), unbroken(p));
    return text;
}

/// Why it stopped or goes on.
std::string course(const ReportInput& report) {
    const auto& evaluation = report.tree.evaluation;
    if (!finished(report) || report.output.decided) return report.output.sentence;
    // It ended between looks: cancelled, out of time, or with nothing left to compare.
    return fmt::format("{} after {} complete block{}{}{}", evaluation.status, report.output.blocks,
                       report.output.blocks == 1 ? "" : "s",
                       report.look < 0 ? ", before the first planned look" : ", with comparisons still open",
                       evaluation.detail.empty() ? "" : ": " + evaluation.detail);
}

/// A verdict that this version would not give again; one that no look gave (an arm that keeps failing) is no such.
std::string other_verdict(const ReportInput& report) {
    const auto& stored = report.tree.evaluation.verdict;
    const std::string found = stats::to_string(report.output.verdict);
    if (stored.empty() || stored == found || report.tree.evaluation.status != "done" || report.look < 0) return "";
    for (const int arm : shown_arms(report))
        if (keeps_failing(report, arm) && stored == "regressed") return "";
    return fmt::format("the evaluation was closed as {}, this version of kab finds {}", stored, found);
}

}  // namespace

Section reliability_section(const ReportInput& report) {
    Section section{"Failures", {}};
    if (!report.boots.empty()) section.parts.emplace_back(failure_table(report));
    Items items;
    items.items = console_lines(report);
    if (const auto text = retries(report); !text.empty()) items.items.push_back(text);
    if (const auto text = false_starts(report); !text.empty()) items.items.push_back(text);
    for (auto& line : excluded(report)) items.items.push_back(std::move(line));
    if (!items.items.empty()) section.parts.emplace_back(std::move(items));
    return section;
}

Section quality_section(const ReportInput& report) {
    Section section{"Control, noise and what could have been seen", {}};
    Items items;
    if (report.output.blocks > 0) {
        control_lines(report, items.items);
        const bool control = std::any_of(report.input.arms.begin(), report.input.arms.end(),
                                         [](const auto& arm) { return arm.control; });
        if (!control) items.items.push_back("there was no control arm: the apparatus was not checked");
        relinked_lines(report, items.items);
        noise_lines(report, items.items);
        items.items.push_back(course(report));
        if (const auto text = unused(report); !text.empty()) items.items.push_back(text);
        for (const auto& warning : report.output.warnings) items.items.push_back("warning: " + p_unbroken(warning));
        if (auto text = other_verdict(report); !text.empty()) items.items.push_back(std::move(text));
    }
    if (!items.items.empty()) section.parts.emplace_back(std::move(items));
    return section;
}

Section reproduce_section(const ReportInput& report) {
    const auto& evaluation = report.tree.evaluation;
    const std::string file = evaluation.spec_file.empty() ? evaluation.experiment + ".yaml" : evaluation.spec_file;
    Section section{"Again, and more", {}};
    const bool any = !report.samples.empty();
    section.parts.emplace_back(
        Paragraph{fmt::format("The same plan in the same order{}. The file as it was submitted is in the database, too "
                              "(spec_text of the evaluation).",
                              any ? ", and every sample" : "")});
    Commands commands;
    commands.lines.push_back({"kab", "run", "--seed", std::to_string(evaluation.seed), file});
    if (any)
        commands.lines.push_back(
            {"kab", "query", fmt::format("SELECT * FROM v_sample WHERE evaluation = '{}'", evaluation.uid)});
    section.parts.emplace_back(std::move(commands));
    return section;
}

}  // namespace kab::report
