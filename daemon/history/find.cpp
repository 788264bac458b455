#include <algorithm>
#include <cmath>

#include "daemon/history/extract.h"
#include "daemon/history/trials.h"
#include "daemon/stats/change_points.h"

namespace kab::history {
namespace {

const stats::ChangePointOptions options;

double mean(const std::vector<Value>& values, std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += values[i].estimate;
    return sum / static_cast<double>(end - begin);
}

std::vector<stats::ChangePoint> search(const std::vector<Value>& values, std::size_t count) {
    std::vector<double> series;
    for (std::size_t i = 0; i < count; ++i) series.push_back(values[i].estimate);
    auto points = stats::change_points(series, options);
    std::sort(points.begin(), points.end(),
              [](const stats::ChangePoint& a, const stats::ChangePoint& b) { return a.index < b.index; });
    return points;
}

/// Whether one of `points` is the change at `index`: nearer to it than to the other changes there are, and less than
/// a segment away, since later values may move a change a little.
bool has(const std::vector<stats::ChangePoint>& points, std::size_t index, const std::vector<Change>& changes) {
    const auto distance = [](int a, std::size_t b) { return std::abs(a - static_cast<int>(b)); };
    for (const auto& point : points) {
        const int own = distance(point.index, index);
        const auto nearer = [&](const Change& other) { return distance(point.index, other.index) < own; };
        if (own < options.least_segment && std::none_of(changes.begin(), changes.end(), nearer)) return true;
    }
    return false;
}

/// How many values of the series it took to see the change.
std::size_t values_to_find(const Series& series, const Change& change) {
    const auto least = change.index + static_cast<std::size_t>(options.least_segment);
    for (std::size_t count = least; count < series.values.size(); ++count)
        if (has(search(series.values, count), change.index, series.changes)) return count;
    return series.values.size();
}

void compare_neighbours(const Value& before, const Value& after, Change& change) {
    change.arm_changed = !same_kernel(before.arm, after.arm);
    change.baseline_changed = !same_kernel(before.base, after.base);
    for (const auto& [what, value] : before.surroundings)
        if (const auto found = after.surroundings.find(what);
            found != after.surroundings.end() && found->second != value)
            change.surroundings_changed.push_back(fmt::format("{}: {} -> {}", what, value.empty() ? "none" : value,
                                                              found->second.empty() ? "none" : found->second));
}

/// The first evaluation that played no part in finding the change and excludes the old level.
std::string later_on_new_side(const Series& series, const Change& change, std::size_t found) {
    for (std::size_t i = found; i < change.index + change.after_n; ++i) {
        const auto& value = series.values[i];
        if (!value.low) continue;
        if (change.after > change.before ? *value.low > change.before : *value.high < change.before)
            return value.evaluation;
    }
    return {};
}

/// Without the evaluations that the change was found with: what was picked because it looks large is no evidence of
/// itself. They compare the kernels of both sides where the baseline is the kernel of one.
void keep_fresh(const Series& series, std::size_t found, std::vector<Trial>& trials) {
    const auto end = series.values.begin() + static_cast<std::ptrdiff_t>(found);
    std::erase_if(trials, [&](const Trial& trial) {
        return std::any_of(series.values.begin(), end,
                           [&](const Value& value) { return value.evaluation == trial.evaluation; });
    });
}

/// What the A/Bs of one of the kernels that changed say together. Any of them may be wrong, and there is one more each
/// night that boots both kernels: the first to confirm would in the end be found by chance. So the majority counts.
struct Tally {
    int all = 0, confirm = 0, refute = 0;

    void add(Trial::Result result) {
        ++all;
        confirm += result == Trial::Result::confirms ? 1 : 0;
        refute += result == Trial::Result::refutes ? 1 : 0;
    }
    bool confirms() const { return 2 * confirm > all; }
    bool refutes() const { return 2 * refute > all; }
};

/// State, and the evaluation with which the change is announced.
void judge(const Series& series, std::int64_t newest, Change& change) {
    const auto found = values_to_find(series, change);
    change.found_at = series.values[found - 1].evaluation;
    change.held_at = later_on_new_side(series, change, found);
    if (!change.held_at.empty()) change.state = Change::State::held;
    keep_fresh(series, found, change.trials);
    Tally of_arm, of_baseline;
    for (const auto& trial : change.trials) {
        Tally& tally = trial.baselines ? of_baseline : of_arm;
        tally.add(trial.result);
        if (!change.announced_at.empty() || !tally.confirms()) continue;
        const auto& last = series.values[found - 1];
        change.state = Change::State::confirmed;
        change.announced_at = trial.at > last.at ? trial.evaluation : last.evaluation;
        change.news = std::max(trial.at, last.at) == newest;
    }
    // Everything that changed was tried and makes no such difference.
    const bool arm = !change.arm_changed || of_arm.refutes(),
               baseline = !change.baseline_changed || of_baseline.refutes();
    if ((change.arm_changed || change.baseline_changed) && arm && baseline) change.state = Change::State::refuted;
}

std::optional<bool> is_worse(Better better, double step) {
    if (better == Better::neither) return std::nullopt;
    return (better == Better::lower) == (step > 0);
}

void find_changes(const std::vector<Record>& records, Series& series) {
    const auto points = search(series.values, series.values.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        Change change;
        change.index = static_cast<std::size_t>(points[i].index);
        change.p = points[i].p;
        const auto begin = i == 0 ? 0 : static_cast<std::size_t>(points[i - 1].index);
        const auto end = i + 1 == points.size() ? series.values.size() : static_cast<std::size_t>(points[i + 1].index);
        change.before_n = change.index - begin;
        change.after_n = end - change.index;
        change.before = mean(series.values, begin, change.index);
        change.after = mean(series.values, change.index, end);
        change.worse = is_worse(series.better, change.after - change.before);
        compare_neighbours(series.values[change.index - 1], series.values[change.index], change);
        change.trials = trials_of(series, change, records);
        series.changes.push_back(std::move(change));
    }
    // Of the experiment whatever has ended, in this series or not.
    std::int64_t newest = 0;
    for (const auto& record : records)
        if (record.tree.evaluation.experiment == series.question.experiment)
            newest = std::max(newest, record.tree.evaluation.finished_at.value_or(0));
    for (const auto& change : series.changes)
        for (const auto& trial : change.trials) newest = std::max(newest, trial.at);
    for (auto& change : series.changes) judge(series, newest, change);
}

/// The series with this setting; a new one where there is none.
Series& series_of(History& history, const Extracted& extracted) {
    for (auto& series : history.series)
        if (series.setting == extracted.setting && series.against == extracted.against &&
            series.scale == extracted.scale && series.unit == extracted.unit)
            return series;
    Series series;
    series.question = history.question;
    series.against = extracted.against;
    series.unit = extracted.unit;
    series.scale = extracted.scale;
    series.setting = extracted.setting;
    series.emulated = extracted.emulated;
    return history.series.emplace_back(std::move(series));
}

}  // namespace

bool same_kernel(const Kernel& a, const Kernel& b) {
    const auto equal = [](const std::string& x, const std::string& y) { return !x.empty() && x == y; };
    const bool code = equal(a.code_signature, b.code_signature) || equal(a.image_hash, b.image_hash);
    return (code || equal(a.key, b.key)) && a.modules == b.modules && a.command_line == b.command_line;
}

History find(const Question& question, const std::vector<Record>& records) {
    const auto earlier = [](const Value& a, const Value& b) {
        return std::tie(a.at, a.evaluation) < std::tie(b.at, b.evaluation);
    };
    History history;
    history.question = question;
    for (const auto& record : records) {
        const auto& evaluation = record.tree.evaluation;
        if (evaluation.experiment != question.experiment) continue;
        auto extracted = extract(question, record);
        if (auto* value = std::get_if<Extracted>(&extracted)) {
            auto& series = series_of(history, *value);
            // A direction may be declared later: it says nothing about the values.
            if (std::all_of(series.values.begin(), series.values.end(),
                            [&](const Value& other) { return earlier(other, value->value); }))
                series.better = value->better;
            series.values.push_back(value->value);
        } else {
            history.left_out.push_back({evaluation.uid, evaluation.created_at, std::get<std::string>(extracted)});
        }
    }
    for (auto& series : history.series) {
        std::sort(series.values.begin(), series.values.end(), earlier);
        find_changes(records, series);
    }
    std::stable_sort(history.series.begin(), history.series.end(),
                     [&](const Series& a, const Series& b) { return earlier(a.values.back(), b.values.back()); });
    return history;
}

}  // namespace kab::history
