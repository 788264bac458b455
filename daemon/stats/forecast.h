#pragma once
// Before any boot: how an evaluation would likely go, were effect and spread as given.
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/stats/analysis.h"

namespace kab::stats {

/// Spread of a block difference from variance components: block variance cancels, two boots remain.
double sd_of_difference(double boot_variance, double iteration_variance, int iterations);

struct ForecastInput {
    Design design;
    Scale scale = Scale::log;
    int comparisons = 1;     ///< primary comparisons that share alpha
    double effect = 0;       ///< true effect: ratio - 1 (above -1) for log metrics, else a difference
    double sd = 0;           ///< of a block difference, on the scale of the metric (log or plain); > 0
    int evaluations = 2000;  ///< simulated
    std::uint64_t seed = 1;
};

/// Shares of the evaluations that have stopped by this look.
struct LookForecast {
    int blocks = 0;
    double decided = 0;                            ///< all; 1 at the cap, where they stop in any case
    double higher = 0, lower = 0, equivalent = 0;  ///< with that verdict; which of the two is better the metric says
};

/// Shares over the simulated evaluations of one comparison; they sum to 1.
struct Forecast {
    double difference = 0;  ///< improved or regressed
    double equivalent = 0;
    double inconclusive = 0;
    double mean_blocks = 0;
    std::vector<LookForecast> looks;
    std::optional<double> detectable;  ///< least effect found with 90% power at the cap; ratio - 1 or difference
};

/// The looks, bounds and order of verdicts are those of analyse(). Block differences are drawn normal.
Forecast forecast(const ForecastInput& input);

}  // namespace kab::stats
