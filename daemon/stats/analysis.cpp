#include "daemon/stats/analysis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "daemon/stats/cells.h"
#include "daemon/stats/compare.h"
#include "daemon/stats/describe.h"
#include "daemon/stats/findings.h"
#include "daemon/stats/multiplicity.h"
#include "daemon/stats/stage.h"
#include "daemon/stats/sums.h"
#include "daemon/stats/verdict.h"
#include "daemon/stats/words.h"

namespace kab::stats {
namespace {

/// The series of one metric of one workload: its points.
struct Group {
    std::vector<int> series;
    bool primary = false;
};

class Analysis {
  public:
    explicit Analysis(const Input& input)
        : input_(input),
          cells_(input),
          stage_(stage_of(input, static_cast<int>(cells_.blocks().size()))),
          judge_(stage_) {}

    Output run(double cost_boot, double cost_iteration);

  private:
    void check_design();
    void find_groups();
    void measure_group(const Group& group);
    void measure_pair(const Group& group, int arm, int against);
    Measured start(const Group& group, int series, int arm, int against) const;
    double margin_of(const Series& series, double against_mean) const;
    void set_margin(Measured& m, const Series& series, double against_mean) const;
    void warn_of_sweep(const Group& group, int arm, const SweepPairs& sweep);
    void measure_unpaired(Measured& m, int series);
    void adjust();
    void decide();
    void judge_all();
    void void_all(const std::string& cause);
    std::vector<std::string> causes() const;
    void conclude();
    std::string stop_sentence(int open, int primaries) const;
    void order();

    const Input& input_;
    Design design_;
    Cells cells_;
    Stage stage_;
    Judge judge_;
    std::vector<Group> groups_;
    int families_ = 0;   ///< primary comparisons, controls not counted
    int primaries_ = 0;  ///< primary groups
    std::optional<Scale> primary_scale_;
    std::vector<Measured> rows_;
    Output out_;
};

bool judged(const std::vector<ArmInfo>& arms, std::size_t arm) {
    const int against = arms[arm].against;
    return against >= 0 && against < static_cast<int>(arms.size()) && against != static_cast<int>(arm);
}

void Analysis::check_design() {
    design_ = input_.design;
    if (!(design_.alpha > 0 && design_.alpha < 1)) {
        out_.warnings.push_back("alpha must lie between 0 and 1: 0.05 is used");
        design_.alpha = 0.05;
    }
    if (!(design_.margin >= 0) || !std::isfinite(design_.margin)) {
        out_.warnings.push_back("the margin must be 0 or more: 0 is used");
        design_.margin = 0;
    }
    bool control = false;
    for (std::size_t a = 0; a < input_.arms.size(); ++a) {
        control |= input_.arms[a].control && judged(input_.arms, a);
        if (input_.arms[a].against >= 0 && !judged(input_.arms, a))
            out_.warnings.push_back(fmt::format("{} is to be judged against no other arm", input_.arms[a].name));
    }
    if (!control) out_.warnings.push_back("there is no control arm: the noise floor is not measured");
    if (!design_.paired)
        out_.warnings.push_back(
            "boots are not paired in blocks: drift between the arms cannot be told from a difference");
}

void Analysis::find_groups() {
    for (std::size_t s = 0; s < input_.series.size(); ++s) {
        const auto& series = input_.series[s];
        auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
            const auto& first = input_.series[static_cast<std::size_t>(g.series.front())];
            // Without blocks there is no mean over points: every point stands for itself.
            return design_.paired && first.workload == series.workload && first.metric == series.metric;
        });
        if (group == groups_.end()) group = groups_.emplace(groups_.end());
        group->series.push_back(static_cast<int>(s));
        group->primary |= series.primary;
        if (series.primary && !primary_scale_) primary_scale_ = series.scale;
    }
    int questions = 0;
    for (std::size_t a = 0; a < input_.arms.size(); ++a)
        questions += judged(input_.arms, a) && !input_.arms[a].control ? 1 : 0;
    for (const auto& group : groups_) primaries_ += group.primary ? 1 : 0;
    families_ = questions * primaries_;
}

Measured Analysis::start(const Group& group, int series, int arm, int against) const {
    const auto& first = input_.series[static_cast<std::size_t>(series < 0 ? group.series.front() : series)];
    Measured m;
    m.row.arm = arm;
    m.row.against = against;
    m.row.series = series;
    m.row.workload = first.workload;
    m.row.metric = first.metric;
    m.row.control = input_.arms[static_cast<std::size_t>(arm)].control;
    m.row.primary = group.primary && (group.series.size() == 1 || series < 0);
    m.scale = first.scale;
    m.better = first.better;
    m.unit = first.unit;
    m.point = series < 0 ? fmt::format("mean over {} points", group.series.size()) : first.point;
    double alpha = design_.alpha;
    if (m.row.primary) alpha = m.row.control ? control_alpha / primaries_ : design_.alpha / std::max(1, families_);
    m.level = level_at(stage_, alpha);
    return m;
}

/// The declared margin belongs to the primary. A linear secondary of a log primary takes it as a share of
/// the baseline's mean; a log secondary of a linear primary has none.
double Analysis::margin_of(const Series& series, double against_mean) const {
    const Scale declared = primary_scale_.value_or(series.scale);
    if (series.scale == declared) return design_.margin;
    if (series.scale == Scale::log) return 0;
    const double share = design_.margin * std::abs(against_mean);
    return std::isfinite(share) ? share : 0;
}

void Analysis::set_margin(Measured& m, const Series& series, double against_mean) const {
    m.row.margin = margin_of(series, against_mean);
    // Symmetric in the arms: +2% and its inverse.
    m.margin = m.scale == Scale::log ? std::log1p(m.row.margin) : m.row.margin;
}

void Analysis::warn_of_sweep(const Group& group, int arm, const SweepPairs& sweep) {
    const auto& name = input_.arms[static_cast<std::size_t>(arm)].name;
    const auto& first = input_.series[static_cast<std::size_t>(group.series.front())];
    for (const auto p : sweep.left_out)
        out_.warnings.push_back(
            fmt::format("{}, mean over points: {} is left out, too few blocks have it with and without the change ({})",
                        first.metric, input_.series[static_cast<std::size_t>(group.series[p])].point, name));
    if (!sweep.incomplete.empty())
        out_.warnings.push_back(fmt::format("{}, mean over points: {} {} left out, a point is missing there ({})",
                                            first.metric, sweep.incomplete.size() == 1 ? "block" : "blocks",
                                            listed(sweep.incomplete), name));
}

void Analysis::measure_unpaired(Measured& m, int series) {
    std::vector<double> arm, against;
    double largest = 0;
    int odd = 0;
    for (const auto& cell : cells_.of(series)) {
        if (cell.arm != m.row.arm && cell.arm != m.row.against) continue;
        if (cell.state == Cell::State::not_positive) ++odd;
        if (cell.state != Cell::State::ok) continue;
        (cell.arm == m.row.arm ? arm : against).push_back(cell.score);
        largest = std::max(largest, std::abs(cell.score));
    }
    set_margin(m, input_.series[static_cast<std::size_t>(series)], mean(against));
    if (odd > 0) {
        m.row.n = static_cast<int>(std::min(arm.size(), against.size()));
        m.row.reason = fmt::format("{} with values of 0 or below: a ratio needs positive values; use scale linear",
                                   counted(odd, "boot"));
        return;
    }
    judge_.measure_unpaired(m, arm, against, 4e-15 * largest);
}

void Analysis::measure_pair(const Group& group, int arm, int against) {
    std::vector<Pairs> points;
    for (const int s : group.series) points.push_back(pair_up(cells_.of(s), arm, against));
    if (group.series.size() > 1) {
        const SweepPairs sweep = pair_up_sweep(points);
        Measured m = start(group, -1, arm, against);
        set_margin(m, input_.series[static_cast<std::size_t>(group.series.front())], sweep.pairs.against_mean);
        judge_.measure(m, sweep.pairs);
        if (group.primary) warn_of_sweep(group, arm, sweep);
        rows_.push_back(std::move(m));
    }
    for (std::size_t p = 0; p < points.size(); ++p) {
        const int s = group.series[p];
        Measured m = start(group, s, arm, against);
        if (design_.paired) {
            set_margin(m, input_.series[static_cast<std::size_t>(s)], points[p].against_mean);
            judge_.measure(m, points[p]);
        } else {
            measure_unpaired(m, s);
        }
        rows_.push_back(std::move(m));
    }
}

void Analysis::measure_group(const Group& group) {
    for (std::size_t a = 0; a < input_.arms.size(); ++a)
        if (judged(input_.arms, a)) measure_pair(group, static_cast<int>(a), input_.arms[a].against);
}

/// Holm over the primaries, Benjamini-Hochberg over all else; the control is no question, but a gate.
void Analysis::adjust() {
    for (const bool primary : {true, false}) {
        std::vector<double> p;
        std::vector<Measured*> of;
        for (auto& m : rows_) {
            if (m.row.control || m.row.primary != primary || !m.row.p_sequential) continue;
            p.push_back(*m.row.p_sequential);
            of.push_back(&m);
        }
        const auto adjusted = primary ? holm(p) : benjamini_hochberg(p);
        for (std::size_t i = 0; i < of.size(); ++i) of[i]->row.p_adjusted = adjusted[i];
    }
}

std::vector<std::string> Analysis::causes() const {
    auto result = input_.failed_gates;
    for (const auto& m : rows_)
        if (m.row.control && m.row.primary)
            if (auto failure = gate_failure(m, input_.arms)) result.push_back(std::move(*failure));
    return result;
}

void Analysis::judge_all() {
    for (auto& m : rows_) {
        if (m.row.control) {
            judge(m, true, Verdict::none);
            m.row.verdict = Verdict::none;
            m.row.material = false;
        } else if (stage_.preview) {
            m.row.verdict = Verdict::pending;
        } else {
            const bool significant = m.row.primary || !m.row.p_adjusted || *m.row.p_adjusted <= secondary_q;
            judge(m, significant, stage_.last ? Verdict::inconclusive : Verdict::pending);
        }
    }
}

void Analysis::void_all(const std::string& cause) {
    out_.verdict = Verdict::invalid;
    out_.decided = true;
    out_.sentence = fmt::format("stops at {}: invalid, {}", stage_.words(out_.blocks), cause);
    for (auto& m : rows_) {
        if (m.row.control) continue;
        m.row.verdict = Verdict::invalid;
        m.row.material = false;
    }
}

void Analysis::decide() {
    judge_all();
    const auto why = stage_.preview ? std::vector<std::string>{} : causes();
    std::string cause;
    for (const auto& one : why) cause += (cause.empty() ? "" : "; ") + one;
    if (!why.empty())
        void_all(cause);
    else
        conclude();
    for (auto& m : rows_) m.row.reason = sentence(m, input_.arms, cause);
}

void Analysis::conclude() {
    std::vector<Verdict> verdicts;
    int open = 0;
    for (const auto& m : rows_) {
        if (!m.row.primary || m.row.control) continue;
        verdicts.push_back(m.row.verdict);
        if (m.row.verdict != Verdict::pending && m.row.verdict != Verdict::inconclusive) continue;
        const auto& arms = input_.arms;
        const bool more = !arms[static_cast<std::size_t>(m.row.arm)].stopped;
        if (more) ++open;
        if (m.row.verdict != Verdict::inconclusive || !more) continue;
        if (const auto needed = blocks_still_needed(m))
            out_.more_blocks = std::max(out_.more_blocks.value_or(0), *needed);
    }
    out_.decided = !stage_.preview && (stage_.last || (open == 0 && !verdicts.empty()));
    out_.verdict = out_.decided ? worst(verdicts) : Verdict::pending;
    out_.sentence = stop_sentence(open, static_cast<int>(verdicts.size()));
    if (!out_.decided) return;
    for (auto& m : rows_)
        if (m.row.verdict == Verdict::pending) m.row.verdict = Verdict::inconclusive;
}

std::string Analysis::stop_sentence(int open, int primaries) const {
    const std::string here = stage_.words(out_.blocks);
    if (stage_.preview) return here + ": not a planned look, so no verdict";
    const std::string of_all = fmt::format("{} of {}", open, counted(primaries, "primary comparison"));
    if (primaries == 0)
        return fmt::format("{} at {}: there is no primary metric", out_.decided ? "stops" : "goes on", here);
    if (open == 0) return fmt::format("stops at {}: every primary comparison has its verdict", here);
    if (!out_.decided)
        return fmt::format("goes on after {}: {} still open; the next look is at {} blocks", here, of_all,
                           stage_.looks[static_cast<std::size_t>(stage_.index) + 1]);
    std::string text = fmt::format("stops at {}, the last: {} inconclusive", here, of_all);
    if (out_.more_blocks)
        text += fmt::format("; about {} would likely settle it", counted(*out_.more_blocks, "more block"));
    return text;
}

/// Primaries first (their controls after them), then by series and arm; a sweep's mean before its points.
void Analysis::order() {
    const auto group_of = [&](const Measured& m) {
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const auto& first = input_.series[static_cast<std::size_t>(groups_[g].series.front())];
            if (first.workload == m.row.workload && first.metric == m.row.metric) return g;
        }
        return groups_.size();
    };
    const auto key = [&](const Measured& m) {
        return std::tuple(!m.row.primary, m.row.primary && m.row.control, group_of(m), m.row.series, m.row.arm);
    };
    std::stable_sort(rows_.begin(), rows_.end(), [&](const Measured& a, const Measured& b) { return key(a) < key(b); });
    for (auto& m : rows_) out_.comparisons.push_back(m.row);
}

Output Analysis::run(double cost_boot, double cost_iteration) {
    check_design();
    find_groups();
    out_.blocks = static_cast<int>(cells_.blocks().size());
    for (const auto& group : groups_) measure_group(group);
    adjust();
    decide();
    order();
    if (out_.verdict != Verdict::invalid) out_.trades = trades_of(out_.comparisons);
    warn_of_opposite_points(rows_, input_.arms, out_.warnings);
    warn_of_missing(input_, cells_, out_.warnings);
    out_.summaries = summaries(input_, cells_);
    out_.components = components_of(input_, cells_, cost_boot, cost_iteration, out_.warnings);
    out_.failures = failures_of(input_, out_.warnings);
    return std::move(out_);
}

}  // namespace

Output analyse(const Input& input, double cost_boot_ns, double cost_iteration_ns) {
    return Analysis(input).run(cost_boot_ns, cost_iteration_ns);
}

}  // namespace kab::stats
