// How long the analysis takes. Run by hand: tests/stats_bench (Google Benchmark's options apply).
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "daemon/stats/analysis.h"
#include "daemon/stats/distributions.h"
#include "daemon/stats/mann_whitney.h"
#include "daemon/stats/random.h"
#include "daemon/stats/spending.h"

namespace kab::stats {
namespace {

double normal(SplitMix& random) {
    return normal_upper_quantile(random.uniform());
}

/// Baseline, two changes and the control; 6 metrics at 20 points; the last of five looks.
Input full_evaluation() {
    Input input;
    input.design.looks = {6, 10, 16, 24, 32};
    input.look = 4;
    input.arms = {{"base", -1, false, 0, 0}, {"one", 0, false, 0, 0}, {"two", 0, false, 0, 0}, {"A'", 0, true, 0, 0}};
    for (int m = 0; m < 6; ++m)
        for (int p = 0; p < 20; ++p)
            input.series.push_back({"w", "tasks=" + std::to_string(p), "metric" + std::to_string(m), "ns",
                                    Better::lower, Scale::log, m == 0});
    SplitMix random(1);
    for (int b = 1; b <= 32; ++b)
        for (int a = 0; a < 4; ++a)
            for (int s = 0; s < 120; ++s) {
                const double boot = 0.02 * normal(random);
                for (int i = 0; i < 5; ++i)
                    input.observations.push_back({b, a, s, i, 1e6 * std::exp(boot + 0.005 * normal(random))});
            }
    return input;
}

void full_analysis(benchmark::State& state) {
    const Input input = full_evaluation();
    for (auto _ : state) benchmark::DoNotOptimize(analyse(input));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(input.observations.size()));
}
BENCHMARK(full_analysis)->Unit(benchmark::kMillisecond);

/// A million samples: 100,000 blocks of two arms with 5 iterations, or two columns of half a million.
void a_million_samples(benchmark::State& state) {
    const bool paired = state.range(0) != 0;
    Input input;
    input.design.paired = paired;
    input.arms = {{"base", -1, false, 0, 0}, {"change", 0, false, 0, 0}};
    input.series.push_back({"w", "", "elapsed", "ns", Better::lower, Scale::log, true});
    SplitMix random(1);
    const int iterations = paired ? 5 : 1;
    for (int b = 0; b < 500000 / iterations; ++b)
        for (int a = 0; a < 2; ++a)
            for (int i = 0; i < iterations; ++i) input.observations.push_back({b, a, 0, i, 100 + random.uniform()});
    for (auto _ : state) benchmark::DoNotOptimize(analyse(input));
}
BENCHMARK(a_million_samples)->ArgName("paired")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

void exact_tied_mann_whitney(benchmark::State& state) {
    SplitMix random(1);
    std::vector<double> x, y;
    for (int i = 0; i < static_cast<int>(state.range(0)); ++i) {
        x.push_back(static_cast<double>(random.below(60)));
        y.push_back(static_cast<double>(random.below(60)));
    }
    for (auto _ : state) benchmark::DoNotOptimize(mann_whitney(x, y));
}
BENCHMARK(exact_tied_mann_whitney)->Arg(10)->Arg(25)->Arg(50)->Unit(benchmark::kMicrosecond);

/// Never the same alpha twice: the memo must not answer.
void group_sequential_bounds(benchmark::State& state) {
    const std::vector<int> looks{6, 10, 16, 24, 32};
    const auto shares = information_shares(looks);
    double alpha = 0.02;
    for (auto _ : state) {
        alpha += 1e-9;
        benchmark::DoNotOptimize(bounds(Spending::hwang_shih_decani, alpha, shares));
    }
}
BENCHMARK(group_sequential_bounds)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kab::stats

BENCHMARK_MAIN();
