#include "daemon/stats/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "daemon/stats/cells.h"
#include "daemon/stats/compare.h"
#include "daemon/stats/decision.h"
#include "daemon/stats/describe.h"
#include "daemon/stats/findings.h"
#include "daemon/stats/multiplicity.h"
#include "daemon/stats/stage.h"
#include "daemon/stats/sums.h"
#include "daemon/stats/verdict.h"
#include "daemon/stats/words.h"
#include "daemon/stats/workings.h"

namespace kab::stats {
namespace {

/// The series of one metric of one workload: its points.
struct Group {
    std::vector<int> series;
    bool primary = false;
    int place = 0;  ///< among the metrics of all workloads, as they come
};

/// Without pairing there are no blocks: the boots of the largest series.
int counted_blocks(const Input& input, const Cells& cells) {
    if (input.design.paired) return static_cast<int>(cells.blocks().size());
    std::size_t most = 0;
    for (std::size_t s = 0; s < input.series.size(); ++s) most = std::max(most, cells.of(static_cast<int>(s)).size());
    return static_cast<int>(most);
}

Design usable(Design design) {
    if (!usable_alpha(design)) design.alpha = 0.05;
    if (!usable_margin(design)) design.margin = 0;
    return design;
}

class Analysis {
  public:
    explicit Analysis(const Input& input)
        : input_(input),
          design_(usable(input.design)),
          cells_(input),
          stage_(stage_of(input.design, input.look, counted_blocks(input, cells_))),
          judge_(stage_) {}

    Workings run(double cost_boot, double cost_iteration);

  private:
    void find_groups();
    void measure_group(const Group& group);
    void measure_pair(const Group& group, int arm, int against);
    Measured start(const Group& group, int series, int arm, int against) const;
    const Level& level_of(double alpha) const;
    std::optional<double> margin_of(const Series& series, double against_mean) const;
    void set_margin(Measured& m, const Series& series, double against_mean) const;
    std::vector<Pairs> pairs_of(const Group& group, int arm, int against, int last_block) const;
    std::optional<Earlier> earlier_verdict(const Group& group, int arm, int against) const;
    void measure_sweep(const Group& group, const std::vector<Pairs>& points, int arm, int against);
    void measure_unpaired(Measured& m, int series);
    void adjust();
    std::vector<std::size_t> order() const;

    const Input& input_;
    Design design_;  ///< with what can be computed with
    Cells cells_;
    Stage stage_;
    Judge judge_;
    std::vector<Group> groups_;
    int families_ = 0;   ///< primary comparisons, controls not counted
    int primaries_ = 0;  ///< primary groups
    std::optional<Scale> primary_scale_;
    mutable std::vector<std::pair<double, Level>> levels_;  ///< by alpha
    std::vector<Level> earlier_levels_;                     ///< of a primary at the planned looks before this one
    SweepGaps gaps_;
    std::vector<Measured> rows_;
    Output out_;
};

void Analysis::find_groups() {
    const auto first_of = [&](const Group& group) -> const Series& {
        return input_.series[static_cast<std::size_t>(group.series.front())];
    };
    for (std::size_t s = 0; s < input_.series.size(); ++s) {
        const auto& series = input_.series[s];
        auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
            return first_of(g).workload == series.workload && first_of(g).metric == series.metric;
        });
        const auto place = static_cast<int>(group - groups_.begin());
        // Without blocks there is no mean over points, and where one of them decides none is asked for.
        if (group == groups_.end() || !design_.paired || series.apart) {
            group = groups_.emplace(groups_.end());
            group->place = place;
        }
        group->series.push_back(static_cast<int>(s));
        group->primary |= series.primary;
        if (series.primary && !primary_scale_) primary_scale_ = series.scale;
    }
    int questions = 0;
    for (std::size_t a = 0; a < input_.arms.size(); ++a)
        questions += judged(input_.arms, a) && input_.arms[a].question() ? 1 : 0;
    for (const auto& group : groups_) primaries_ += group.primary ? 1 : 0;
    families_ = questions * primaries_;
    if (!design_.paired || input_.design.looks.empty()) return;
    const int blocks = counted_blocks(input_, cells_), looks = static_cast<int>(stage_.looks.size());
    for (int look = 0; look < looks; ++look) {
        const bool taken =
            stage_.preview ? stage_.looks[static_cast<std::size_t>(look)] <= blocks : look < stage_.index;
        if (!taken) break;
        earlier_levels_.push_back(level_at(stage_of(design_, look, 0), design_.alpha / std::max(1, families_)));
    }
}

Measured Analysis::start(const Group& group, int series, int arm, int against) const {
    const auto& first = input_.series[static_cast<std::size_t>(series < 0 ? group.series.front() : series)];
    Measured m;
    m.group = group.place;
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
    m.row.relinked = input_.arms[static_cast<std::size_t>(arm)].relinked;
    m.row.same_code = m.row.question() && input_.arms[static_cast<std::size_t>(arm)].same_code;
    m.exact_mode = design_.exact;
    m.noun = stage_.noun;
    double alpha = design_.alpha;
    if (m.row.primary && !m.row.relinked)
        alpha = m.row.control ? control_alpha / primaries_ : design_.alpha / std::max(1, families_);
    m.level = level_of(alpha);
    if (m.row.primary && (m.row.control || m.row.same_code)) m.gate = level_of(control_alpha / primaries_);
    m.row.spent = m.level.spent;
    return m;
}

/// At this stage; comparisons ask for the same few.
const Level& Analysis::level_of(double alpha) const {
    for (const auto& [known, level] : levels_)
        if (known == alpha) return level;
    return levels_.emplace_back(alpha, level_at(stage_, alpha)).second;
}

/// The declared margin belongs to the primary. A linear secondary of a log primary takes it as a share of
/// the baseline's mean; a log secondary of a linear primary has none.
std::optional<double> Analysis::margin_of(const Series& series, double against_mean) const {
    const Scale declared = primary_scale_.value_or(series.scale);
    const bool share_of_mean = design_.relative_margin && series.scale == Scale::linear;
    if ((series.scale == declared || design_.relative_margin) && !share_of_mean) return design_.margin;
    if (design_.margin == 0) return 0.0;  // on any scale
    if (series.scale == Scale::log) return std::nullopt;
    const double share = design_.margin * std::abs(against_mean);
    return std::isfinite(share) ? std::optional(share) : std::nullopt;
}

void Analysis::set_margin(Measured& m, const Series& series, double against_mean) const {
    const auto margin = margin_of(series, against_mean);
    m.has_margin = margin.has_value();
    m.row.margin = margin;
    // Symmetric in the arms: +2% and its inverse.
    m.margin = m.scale == Scale::log ? std::log1p(margin.value_or(0)) : margin.value_or(0);
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

std::vector<Pairs> Analysis::pairs_of(const Group& group, int arm, int against, int last_block) const {
    std::vector<Pairs> points;
    points.reserve(group.series.size());
    for (const int s : group.series) points.push_back(pair_up(cells_, s, arm, against, last_block));
    return points;
}

/// The verdict of the first planned look before this one that gave one, from the blocks of that look alone.
std::optional<Earlier> Analysis::earlier_verdict(const Group& group, int arm, int against) const {
    for (std::size_t look = 0; look < earlier_levels_.size(); ++look) {
        const auto points = pairs_of(group, arm, against, stage_.looks[look]);
        const Pairs pairs = points.size() > 1 ? pair_up_sweep(points).pairs : points.front();
        const int series = points.size() > 1 ? -1 : group.series.front();
        if (pairs.d.size() < 2 || pairs.not_positive > 0) continue;
        Measured m = start(group, series, arm, against);
        m.level = earlier_levels_[look];
        set_margin(m, input_.series[static_cast<std::size_t>(group.series.front())], pairs.against_mean);
        set_test(m, paired_t(pairs.d, pairs.tolerance));
        if (!std::isfinite(m.test.mean) || !std::isfinite(m.test.sd) || !std::isfinite(m.test.t)) continue;
        judge(m, true, Verdict::pending);
        if (m.row.verdict != Verdict::pending) return Earlier{static_cast<int>(look), m.row.verdict, m.row.material};
    }
    return std::nullopt;
}

void Analysis::measure_sweep(const Group& group, const std::vector<Pairs>& points, int arm, int against) {
    const SweepPairs sweep = pair_up_sweep(points);
    Measured m = start(group, -1, arm, against);
    set_margin(m, input_.series[static_cast<std::size_t>(group.series.front())], sweep.pairs.against_mean);
    judge_.measure(m, sweep.pairs);
    if (m.row.primary && m.row.question()) m.earlier = earlier_verdict(group, arm, against);
    std::vector<std::string> left_out;
    for (const auto p : sweep.left_out)
        left_out.push_back(input_.series[static_cast<std::size_t>(group.series[p])].point);
    gaps_.add(m.row.workload, m.row.metric, input_.arms[static_cast<std::size_t>(arm)].name, left_out,
              sweep.incomplete);
    rows_.push_back(std::move(m));
}

void Analysis::measure_pair(const Group& group, int arm, int against) {
    const auto points = pairs_of(group, arm, against, std::numeric_limits<int>::max());
    if (group.series.size() > 1) measure_sweep(group, points, arm, against);
    for (std::size_t p = 0; p < points.size(); ++p) {
        const int s = group.series[p];
        Measured m = start(group, s, arm, against);
        if (design_.paired) {
            set_margin(m, input_.series[static_cast<std::size_t>(s)], points[p].against_mean);
            judge_.measure(m, points[p]);
            if (m.row.primary && m.row.question()) m.earlier = earlier_verdict(group, arm, against);
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

/// Holm over the primaries, Benjamini-Hochberg over all else; the control is no question, but a gate. The number of
/// primaries is fixed by the plan: one without a p counts as p = 1.
void Analysis::adjust() {
    for (const bool primary : {true, false}) {
        std::vector<double> p;
        std::vector<Measured*> of;
        for (auto& m : rows_) {
            if (!m.row.question() || m.row.primary != primary || (!primary && !m.row.p_sequential)) continue;
            p.push_back(m.row.p_sequential.value_or(1));
            of.push_back(&m);
        }
        const auto adjusted = primary ? holm(p) : benjamini_hochberg(p);
        for (std::size_t i = 0; i < of.size(); ++i)
            if (of[i]->row.p_sequential) of[i]->row.p_adjusted = adjusted[i];
    }
}

/// Primaries first (their controls after them), then by series and arm; a sweep's mean before its points.
std::vector<std::size_t> Analysis::order() const {
    using Key = std::tuple<bool, bool, int, int, int>;
    std::vector<std::pair<Key, std::size_t>> keys;
    keys.reserve(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const Comparison& row = rows_[i].row;
        keys.emplace_back(Key(!row.primary, row.primary && !row.question(), rows_[i].group, row.series, row.arm), i);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::size_t> order;
    order.reserve(keys.size());
    for (const auto& [key, i] : keys) order.push_back(i);
    return order;
}

Workings Analysis::run(double cost_boot, double cost_iteration) {
    find_groups();
    out_.blocks = counted_blocks(input_, cells_);
    rows_.reserve(input_.arms.size() * (input_.series.size() + groups_.size()));
    for (const auto& group : groups_) measure_group(group);
    adjust();
    Conclusion conclusion = Decision(input_, stage_, rows_, out_).decide();
    auto shown = order();
    out_.comparisons.reserve(rows_.size());
    for (const std::size_t i : shown) out_.comparisons.push_back(rows_[i].row);
    if (out_.verdict != Verdict::invalid) out_.trades = trades_of(out_.comparisons, input_.series);
    out_.summaries = cells_.summaries();
    out_.components = components_of(input_, cells_, cost_boot, cost_iteration);
    out_.failures = failures_of(input_);
    return {std::move(cells_), std::move(stage_),     std::move(rows_), std::move(shown),
            std::move(gaps_),  std::move(conclusion), std::move(out_)};
}

}  // namespace

Workings work_out(const Input& input, double cost_boot_ns, double cost_iteration_ns) {
    return Analysis(input).run(cost_boot_ns, cost_iteration_ns);
}

Output figures(const Input& input, double cost_boot_ns, double cost_iteration_ns) {
    return work_out(input, cost_boot_ns, cost_iteration_ns).output;
}

}  // namespace kab::stats
