// The first sentences of a report.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "common/score.h"
#include "daemon/report/checks.h"
#include "daemon/report/compose.h"
#include "daemon/report/figures.h"
#include "daemon/report/levels.h"

namespace kab::report {
namespace {

constexpr std::size_t most_named = 3;

class Claims {
  public:
    explicit Claims(const ReportInput& report) : report_(report), levels_(report) {}
    std::vector<std::string> all();

  private:
    void faults();
    void stopped(std::size_t arm);
    std::string failed_boots(const stats::ArmFailure& failure) const;
    void nothing_measured();
    void verdicts();
    void closing();
    void say(std::string sentence) { sentences_.push_back(std::move(sentence)); }

    std::string judged(const stats::Comparison& primary);
    std::string same_code(const stats::Comparison& primary);
    std::string price(const stats::Comparison& primary);
    std::string trades_at_points(const stats::Comparison& primary);
    std::string facts(const stats::Comparison& comparison);
    std::string named(const std::vector<int>& which);
    std::string metric_name(const stats::Comparison& comparison) const;
    std::string margin_text(const stats::Comparison& comparison) const;
    std::string control_covers(const stats::Comparison& primary) const;
    std::string scores_text(bool first) const;
    const std::string& arm(int index) const { return report_.input.arms[static_cast<std::size_t>(index)].name; }

    const ReportInput& report_;
    Levels levels_;
    std::vector<std::string> sentences_;
    bool geometric_ = false;  ///< a before and after was named that is a geometric mean
};

std::string Claims::metric_name(const stats::Comparison& comparison) const {
    std::string name = comparison.workload + "/" + comparison.metric;
    if (comparison.series < 0) return name + " (mean over the sweep)";
    const auto& point = series_of(report_, comparison).point;
    return point.empty() ? name : name + " at " + point;
}

/// "1.202 s -> 0.951 s, ratio 0.808 (95% interval ...)"
std::string Claims::facts(const stats::Comparison& comparison) {
    const auto level = levels_.of(comparison);
    if (!level) return evidence(report_, comparison);
    const auto& series = series_of(report_, comparison);
    geometric_ |= series.scale == Scale::log;
    return fmt::format("{} -> {}, {}", unbroken(quantity(level->before, series.unit)),
                       unbroken(quantity(level->after, series.unit)), evidence(report_, comparison));
}

std::string Claims::margin_text(const stats::Comparison& comparison) const {
    const auto& series = series_of(report_, comparison);
    const double margin = comparison.margin.value_or(0);
    if (series.scale == Scale::log) return fmt::format("{:.4g}%", 100 * margin);
    return quantity(margin, series.unit);
}

/// The comparisons as text, the first ones in full; more of them are only counted.
std::string Claims::named(const std::vector<int>& which) {
    std::string all;
    for (std::size_t i = 0; i < std::min(which.size(), most_named); ++i) {
        const auto& comparison = report_.output.comparisons[static_cast<std::size_t>(which[i])];
        all += (i == 0 ? "" : "; ") + metric_name(comparison) + " " + facts(comparison);
    }
    if (which.size() > most_named) all += fmt::format("; and {} more, see below", which.size() - most_named);
    return all;
}

/// What became worse or better beside the primary; empty where nothing has been judged yet.
std::string Claims::price(const stats::Comparison& primary) {
    using stats::Verdict;
    if (report_.look < 0 && !report_.output.decided) return "";
    const auto& all = report_.output.comparisons;
    // The points of a sweep stand behind its mean.
    const auto swept = [&](const stats::Comparison& c) {
        return std::any_of(all.begin(), all.end(), [&](const stats::Comparison& mean) {
            return mean.series < 0 && mean.arm == c.arm && mean.workload == c.workload && mean.metric == c.metric;
        });
    };
    std::vector<int> worse, better, slightly;
    bool others = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& c = all[i];
        if (&c == &primary || c.arm != primary.arm || c.control || (c.series >= 0 && swept(c))) continue;
        others |= c.estimate.has_value();
        if (c.verdict == Verdict::improved && c.material) better.push_back(static_cast<int>(i));
        if (c.verdict == Verdict::regressed) (c.material ? worse : slightly).push_back(static_cast<int>(i));
    }
    // First what it costs where it was judged.
    const auto same_point = [&](int i) {
        const auto& c = all[static_cast<std::size_t>(i)];
        return primary.series >= 0 && c.series >= 0 && c.workload == primary.workload &&
               series_of(report_, c).point == series_of(report_, primary).point;
    };
    for (auto* const list : {&worse, &better, &slightly}) std::stable_partition(list->begin(), list->end(), same_point);
    if (!others) return " No other metric was compared.";
    std::string slight;
    if (!slightly.empty()) slight = " Worse, too, though not shown to exceed the margin: " + named(slightly) + ".";
    if (primary.verdict == Verdict::regressed) {
        std::string text =
            better.empty() ? " No other metric was shown to be better."
                           : " Against that it gains: " + named(better) + "." + (primary.material ? " A trade." : "");
        if (!worse.empty()) text += " Worse as well: " + named(worse) + ".";
        return text + slight;
    }
    if (worse.empty()) return slight.empty() ? " No other metric was shown to be worse." : slight;
    if (primary.verdict == Verdict::improved)
        return " The price: " + named(worse) + "." + (primary.material ? " A trade, not a win." : " Not a win.") +
               slight;
    std::string text = " Shown to be worse: " + named(worse) + ".";
    if (!better.empty()) text += " Shown to be better: " + named(better) + ". A trade, not a win.";
    return text + slight;
}

/// The first series of the point that `series` is of.
int first_of_point(const ReportInput& report, int series) {
    const auto& all = report.input.series;
    const auto& own = all[static_cast<std::size_t>(series)];
    const auto same = [&](const stats::Series& s) { return s.workload == own.workload && s.point == own.point; };
    return static_cast<int>(std::find_if(all.begin(), all.end(), same) - all.begin());
}

/// Trades at single points of the primary's sweep that no mean shows.
std::string Claims::trades_at_points(const stats::Comparison& primary) {
    if (primary.series >= 0 || (report_.look < 0 && !report_.output.decided)) return "";
    struct AtPoint {
        std::vector<int> better, worse;  ///< comparisons
    };
    std::map<int, AtPoint> at_point;  // by the first series of the point: as the points were declared
    const auto add = [](std::vector<int>& to, int comparison) {
        if (std::find(to.begin(), to.end(), comparison) == to.end()) to.push_back(comparison);
    };
    for (const auto& trade : report_.output.trades) {
        const auto& better = report_.output.comparisons[static_cast<std::size_t>(trade.better_comparison)];
        if (trade.arm != primary.arm || !trade.at_point) continue;
        auto& sides = at_point[first_of_point(report_, better.series)];
        add(sides.better, trade.better_comparison);
        add(sides.worse, trade.worse_comparison);
    }
    // The same metrics at many points are told once, with the figures of the first.
    std::map<std::string, std::vector<int>> alike;
    for (const auto& [point, sides] : at_point) {
        std::string metrics;
        for (const int i : sides.better)
            metrics += "+" + report_.output.comparisons[static_cast<std::size_t>(i)].metric;
        for (const int i : sides.worse) metrics += "-" + report_.output.comparisons[static_cast<std::size_t>(i)].metric;
        alike[report_.input.series[static_cast<std::size_t>(point)].workload + metrics].push_back(point);
    }
    std::string text;
    for (const auto& [metrics, points] : alike) {
        std::string where;
        for (const int point : points)
            where += (where.empty() ? "" : "; ") + report_.input.series[static_cast<std::size_t>(point)].point;
        const auto& sides = at_point.at(points.front());
        text +=
            points.size() == 1
                ? fmt::format(" At {} a trade that the mean hides: ", where)
                : fmt::format(" At {} points a trade that the mean hides ({}); at the first: ", points.size(), where);
        text += fmt::format("better {}; worse {}.", named(sides.better), named(sides.worse));
    }
    return text;
}

/// A warning when the noise that the control shows, or does not exclude, is as large as the effect claimed; and when
/// the placement of code alone does as much.
std::string Claims::control_covers(const stats::Comparison& primary) const {
    const bool log = series_of(report_, primary).scale == Scale::log;
    const auto size = [&](double value) { return std::abs(log ? std::log(value) : value); };
    std::string text;
    for (const auto& other : report_.output.comparisons) {
        if (other.question() || !other.estimate || other.series != primary.series ||
            other.workload != primary.workload || other.metric != primary.metric)
            continue;
        const auto& e = *other.estimate;
        if (std::max({size(e.value), size(e.low), size(e.high)}) < size(primary.estimate->value)) continue;
        const std::string shown = evidence(report_, other);
        if (other.relinked)
            text += fmt::format(
                " Caution: {}, which is {} with its code moved, came out at {}: placement of code alone "
                "may do as much.",
                arm(other.arm), arm(other.against), shown);
        else
            text += fmt::format(
                " Caution: the control {}, the same kernel as {}, came out at {}, which does not rule "
                "out noise of this size.",
                arm(other.arm), arm(other.against), shown);
    }
    return text;
}

std::string Claims::same_code(const stats::Comparison& primary) {
    return fmt::format(
        "{} and {} are the same machine code, booted in the same way: whatever they differ by is "
        "noise, and no verdict is given. {}: {}.",
        arm(primary.arm), arm(primary.against), metric_name(primary), facts(primary));
}

/// A verdict stands from the look at which it fell; the figures are of the last.
std::string decided_before(const ReportInput& report, const stats::Comparison& comparison) {
    const auto& at = comparison.decided_at;
    if (!at || report.look < 0 || *at >= report.look) return "";
    return fmt::format(" Decided at look {} ({} blocks); the figures are those of look {}.", *at + 1,
                       report.input.design.looks.at(static_cast<std::size_t>(*at)), report.look + 1);
}

/// Does its interval exclude no change?
bool differs(const ReportInput& report, const stats::Comparison& comparison) {
    const double none = series_of(report, comparison).scale == Scale::log ? 1 : 0;
    const auto& estimate = comparison.estimate;
    return estimate && (estimate->low > none || estimate->high < none);
}

std::string Claims::judged(const stats::Comparison& primary) {
    if (primary.same_code) return same_code(primary);
    const std::string lead = arm(primary.arm) + " against " + arm(primary.against) + ": ";
    const std::string metric = metric_name(primary), figures = facts(primary), margin = margin_text(primary);
    const std::string fragile =
        decided_before(report_, primary) + (primary.fragile ? " Fragile: the rank test does not agree." : "");
    switch (primary.verdict) {
        case stats::Verdict::improved:
        case stats::Verdict::regressed: {
            std::string size;
            if (primary.margin.value_or(0) > 0)
                size = primary.material ? ", by more than the margin of " + margin
                                        : ", though perhaps by less than the margin of " + margin;
            return fmt::format("{}{} {}{}: {}.{}{}{}", lead, metric, stats::to_string(primary.verdict), size, figures,
                               fragile, primary.estimate ? control_covers(primary) : "", price(primary));
        }
        case stats::Verdict::equivalent: {
            const std::string same =
                primary.exact && !differs(report_, primary)
                    ? "exactly the same"
                    : "equivalent within " + margin + (differs(report_, primary) ? ", though not the same" : "");
            return fmt::format("{}{} is {}: {}.{}{}", lead, metric, same, figures, fragile, price(primary));
        }
        case stats::Verdict::inconclusive: {
            std::string open, more;
            if (primary.estimate) {
                open = primary.margin.value_or(0) > 0
                           ? "; neither a difference nor equivalence within " + margin + " is shown"
                           : "; no difference is shown";
                more = " At this noise more blocks alone will hardly settle it.";
            }
            if (primary.blocks_needed)
                more = fmt::format(" A new evaluation of about {0} blocks (decide.fixed: {0}) would likely settle it.",
                                   *primary.blocks_needed);
            if (primary.exact || report_.input.arms[static_cast<std::size_t>(primary.arm)].stopped) more.clear();
            return fmt::format("{}cannot tell for {}: {}{}.{}{}{}", lead, metric, figures, open, more, fragile,
                               price(primary));
        }
        case stats::Verdict::pending:
            return fmt::format("{}no verdict{} for {}: {}.{}{}", lead, finished(report_) ? "" : " yet", metric, figures,
                               fragile, price(primary));
        case stats::Verdict::none:
            return fmt::format("{}{}: {}; it is better in neither direction.{}", lead, metric, figures, price(primary));
        case stats::Verdict::invalid: return "";
    }
    return "";
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

/// With a full stop, unless it has an end of its own.
std::string ended(const std::string& text) {
    return text.empty() || std::string(".!?").find(text.back()) != std::string::npos ? text : text + ".";
}

/// "b failed in 2 of 6 boots, a in 0 of 7 (Fisher's exact p 0.19)"
std::string Claims::failed_boots(const stats::ArmFailure& failure) const {
    return fmt::format("{} failed in {} of {} boots, {} in {} of {}{}", arm(failure.arm), failure.failed, failure.boots,
                       arm(failure.against), failure.against_failed, failure.against_boots,
                       failure.p ? " (Fisher's exact " + unbroken("p " + p_value(*failure.p)) + ")" : "");
}

void Claims::stopped(std::size_t index) {
    const auto& row = report_.tree.arms[index];
    const auto& info = report_.input.arms[index];
    if (!keeps_failing(report_, static_cast<int>(index)))
        return say(fmt::format("{} was stopped: {}", row.name, ended(first_line(row.detail))));
    const std::string why = info.stopped_why.empty() ? "keeps failing" : info.stopped_why;
    const auto* primary = primary_of(report_, static_cast<int>(index));
    // Where the baseline fails, too, Fisher's test decides.
    if (primary != nullptr && primary->verdict != stats::Verdict::regressed)
        return say(fmt::format("{} against {}: stopped ({} {}), though not shown to be worse, as {} fails, too: {}",
                               row.name, row.against, row.name, why, row.against, ended(first_line(row.detail))));
    say(fmt::format("{} against {}: regressed ({} {}): {}", row.name, row.against, row.name, why,
                    ended(first_line(row.detail))));
}

/// Arms that could not be built or had to be stopped, and failed boots.
void Claims::faults() {
    for (auto& claim : check_claims(report_)) say(std::move(claim));
    for (std::size_t i = 0; i < report_.tree.arms.size(); ++i) {
        const auto& row = report_.tree.arms[i];
        // The control is the image of another arm: that one says it.
        if (row.status == "failed" && !row.control)
            say(fmt::format("build-failure: {} could not be built: {}", row.name, first_line(row.detail)));
        if (row.status == "stopped" && !failed_checks(report_, static_cast<int>(i))) stopped(i);
    }
    for (const auto& failure : report_.output.failures)
        if (failure.failed > 0 && !report_.input.arms[static_cast<std::size_t>(failure.arm)].control)
            say(failed_boots(failure) + ".");
}

void Claims::nothing_measured() {
    const auto& evaluation = report_.tree.evaluation;
    if (!finished(report_))
        return say(fmt::format("Nothing was measured yet: no block is complete (evaluation {}).", evaluation.status));
    const std::string why =
        evaluation.detail.empty() || !sentences_.empty() ? "" : ": " + first_line(evaluation.detail);
    say(fmt::format("Nothing was measured: no block was completed{} (evaluation {}).", why, evaluation.status));
}

void Claims::verdicts() {
    if (report_.output.verdict == stats::Verdict::invalid)
        return say("INVALID, no claim can be made: " + report_.output.sentence + ".");
    bool open = false;
    for (const int arm : shown_arms(report_)) {
        const auto& status = report_.tree.arms[static_cast<std::size_t>(arm)].status;
        const auto* primary = primary_of(report_, arm);
        if (primary == nullptr || status == "failed" || keeps_failing(report_, arm)) continue;
        if (failed_checks(report_, arm)) continue;
        say(judged(*primary) + trades_at_points(*primary));
        open = true;
    }
    if (report_.look >= 0 || report_.output.decided || !open) return;
    say(finished(report_) ? "The evaluation ended before its first planned look: there is no verdict."
                          : "This is a preview: no planned look has been taken yet.");
}

/// Which workloads are compared by something else than means.
std::string Claims::scores_text(bool first) const {
    std::string text;
    std::set<std::string> told;
    for (const auto& series : report_.input.series)
        if (series.quantile && told.insert(series.workload).second)
            text += fmt::format("{}Of a boot in {} its {} is compared, not its mean.", first && text.empty() ? "" : " ",
                                series.workload, score_word(series.quantile));
    return text;
}

void Claims::closing() {
    std::string text;
    if (geometric_)
        text =
            "Values before and after are means over the paired blocks, geometric ones beside a ratio; the tables below "
            "have arithmetic means.";
    text += scores_text(text.empty());
    const bool figures = report_.output.blocks > 0 || sentences_.size() > 1;
    if (const auto label = caution(report_); !label.empty() && figures)
        text += (text.empty() ? "" : " ") + ("All of this was " + label + ".");
    if (report_.input.design.exact && figures)
        text += std::string(text.empty() ? "" : " ") +
                "Exact mode counts instructions, one of them 1 ns: it says how many more, never how long, and nothing "
                "about contention or caches.";
    if (!text.empty()) say(text);
}

std::vector<std::string> Claims::all() {
    faults();
    if (report_.output.blocks == 0)
        nothing_measured();
    else
        verdicts();
    closing();
    return std::move(sentences_);
}

}  // namespace

std::vector<std::string> claims(const ReportInput& report) {
    return Claims(report).all();
}

}  // namespace kab::report
