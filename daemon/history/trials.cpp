#include "daemon/history/trials.h"

#include <algorithm>
#include <cmath>

#include "daemon/history/extract.h"

namespace kab::history {
namespace {

/// +1: the comparison is of `after` against `before`; -1: the other way round; 0: of other kernels.
int direction(const Extracted& comparison, const Kernel& before, const Kernel& after) {
    const auto& value = comparison.value;
    if (same_kernel(value.arm, after) && same_kernel(value.base, before)) return 1;
    return same_kernel(value.arm, before) && same_kernel(value.base, after) ? -1 : 0;
}

/// `sign`: of the comparison, as a change of the series.
Trial trial_of(const Extracted& comparison, int sign, double step) {
    const auto& value = comparison.value;
    Trial trial;
    trial.evaluation = value.evaluation;
    trial.at = value.at;
    trial.estimate = sign * value.estimate;
    trial.low = sign > 0 ? *value.low : -*value.high;
    trial.high = sign > 0 ? *value.high : -*value.low;
    // The direction is that of the change from here on.
    const double low = step > 0 ? trial.low : -trial.high, high = step > 0 ? trial.high : -trial.low;
    if (low > 0)
        trial.result = Trial::Result::confirms;
    else if (high < std::abs(step) / 2)
        trial.result = Trial::Result::refutes;
    return trial;
}

}  // namespace

std::vector<Trial> trials_of(const Series& series, const Change& change, const std::vector<Record>& records) {
    std::vector<Trial> trials;
    const auto& before = series.values[change.index - 1];
    const auto& after = series.values[change.index];
    const double step = change.after - change.before;
    for (const auto& record : records) {
        for (const auto& comparison : comparisons_of(series.question, record)) {
            if (comparison.value.at <= after.at || !comparison.value.low) continue;
            if (comparison.setting != series.setting || comparison.scale != series.scale) continue;
            if (const int way = change.arm_changed ? direction(comparison, before.arm, after.arm) : 0; way != 0)
                trials.push_back(trial_of(comparison, way, step));
            // A baseline that became larger makes the ratio smaller.
            if (const int way = change.baseline_changed ? direction(comparison, before.base, after.base) : 0;
                way != 0) {
                trials.push_back(trial_of(comparison, -way, step));
                trials.back().baselines = true;
            }
        }
    }
    std::stable_sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.at < b.at; });
    return trials;
}

}  // namespace kab::history
