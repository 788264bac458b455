#include "daemon/stats/forecast.h"

#include <algorithm>
#include <cmath>

#include "daemon/stats/distributions.h"
#include "daemon/stats/paired.h"
#include "daemon/stats/power.h"
#include "daemon/stats/random.h"
#include "daemon/stats/stage.h"
#include "daemon/stats/verdict.h"

namespace kab::stats {
namespace {

struct PlannedLook {
    int blocks = 0;
    Level level;
};

std::vector<PlannedLook> planned_looks(const ForecastInput& input) {
    std::vector<PlannedLook> looks;
    const int count = static_cast<int>(stage_of(input.design, 0, 0).looks.size());
    for (int look = 0; look < count; ++look) {
        const Stage stage = stage_of(input.design, look, 0);
        const Level level = level_at(stage, input.design.alpha / std::max(1, input.comparisons));
        looks.push_back({stage.looks[static_cast<std::size_t>(look)], level});
    }
    return looks;
}

Verdict verdict_at(const PlannedLook& look, std::span<const double> d, double margin) {
    Measured m;
    m.scale = Scale::linear;  // the differences are already on the scale of the metric
    m.margin = margin;
    m.level = look.level;
    set_test(m, paired_t(d));
    judge(m, true, Verdict::pending);
    return m.row.verdict;
}

}  // namespace

double sd_of_difference(double boot_variance, double iteration_variance, int iterations) {
    return std::sqrt(2 * (boot_variance + iteration_variance / std::max(1, iterations)));
}

Forecast forecast(const ForecastInput& input) {
    Forecast result;
    const auto looks = planned_looks(input);
    const bool log_scale = input.scale == Scale::log;
    const double effect = log_scale ? std::log1p(input.effect) : input.effect;
    const double margin = log_scale ? std::log1p(input.design.margin) : input.design.margin;
    for (const auto& look : looks) result.looks.push_back({look.blocks});
    const auto& cap = looks.back();
    if (const auto least = detectable_effect(cap.blocks, cap.level.nominal))
        result.detectable = log_scale ? std::expm1(*least * input.sd) : *least * input.sd;
    const double one = 1.0 / std::max(1, input.evaluations);
    std::vector<double> d;
    for (int e = 0; e < input.evaluations; ++e) {
        SplitMix random(derive_seed(input.seed, static_cast<std::uint64_t>(e)));
        d.clear();
        Verdict verdict = Verdict::pending;
        std::size_t stopped = 0;
        for (std::size_t k = 0; k < looks.size() && verdict == Verdict::pending; ++k) {
            while (static_cast<int>(d.size()) < looks[k].blocks)
                d.push_back(effect + input.sd * normal_upper_quantile(random.uniform()));
            verdict = verdict_at(looks[k], d, margin);
            stopped = k;
        }
        (verdict == Verdict::equivalent ? result.equivalent
         : verdict == Verdict::pending  ? result.inconclusive
                                        : result.difference) += one;
        result.mean_blocks += one * looks[stopped].blocks;
        for (std::size_t k = stopped; k < looks.size(); ++k) {
            auto& by = result.looks[k];
            by.decided += one;
            by.higher += verdict == Verdict::regressed ? one : 0;  // Measured::better is lower
            by.lower += verdict == Verdict::improved ? one : 0;
            by.equivalent += verdict == Verdict::equivalent ? one : 0;
        }
    }
    return result;
}

}  // namespace kab::stats
