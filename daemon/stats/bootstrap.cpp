#include "daemon/stats/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "daemon/stats/distributions.h"
#include "daemon/stats/random.h"
#include "daemon/stats/sums.h"

namespace kab::stats {
namespace {

double quantile(const std::vector<double>& sorted, double p) {
    const double at = p * static_cast<double>(sorted.size() - 1);
    const auto below =
        static_cast<std::size_t>(std::clamp(std::floor(at), 0.0, static_cast<double>(sorted.size() - 1)));
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The acceleration from the jackknife; of a mean: skewness / (6 sqrt n).
double acceleration(std::span<const double> values, double centre) {
    double cubes = 0, squares = 0;
    for (const double value : values) {
        const double off = value - centre;
        squares += off * off;
        cubes += off * off * off;
    }
    return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

}  // namespace

BootstrapIntervals bootstrap_mean(std::span<const double> values, int resamples, std::uint64_t seed, double level) {
    BootstrapIntervals result;
    const double centre = mean(values);
    result.percentile = result.bca = {centre, centre};
    if (values.size() < 2 || resamples < 2) return result;
    SplitMix random(seed);
    std::vector<double> means(static_cast<std::size_t>(resamples));
    for (auto& m : means) {
        double total = 0;
        for (std::size_t i = 0; i < values.size(); ++i) total += values[random.below(values.size())];
        m = total / static_cast<double>(values.size());
    }
    std::sort(means.begin(), means.end());
    if (means.front() == means.back()) return result;
    const double tail = (1 - level) / 2;
    result.percentile = {quantile(means, tail), quantile(means, 1 - tail)};
    const auto below = static_cast<double>(std::lower_bound(means.begin(), means.end(), centre) - means.begin());
    const auto n = static_cast<double>(resamples);
    const double bias = -normal_upper_quantile(std::clamp(below / n, 0.5 / n, 1 - 0.5 / n));
    const double a = acceleration(values, centre);
    const auto adjusted = [&](double z) { return normal_upper(-(bias + (bias + z) / (1 - a * (bias + z)))); };
    const double z = normal_upper_quantile(tail);
    result.bca = {quantile(means, adjusted(-z)), quantile(means, adjusted(z))};
    return result;
}

}  // namespace kab::stats
