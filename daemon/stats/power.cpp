#include "daemon/stats/power.h"

#include <algorithm>
#include <cmath>

#include "daemon/stats/distributions.h"

namespace kab::stats {
namespace {

/// The least n in [2, most_blocks] for which `enough` holds, given that it stays true once it is.
template <class Enough>
std::optional<int> least_blocks(const Enough& enough) {
    int high = 2;
    while (!enough(high)) {
        if (high >= most_blocks) return std::nullopt;
        high = std::min(high * 2, most_blocks);
    }
    int low = std::max(2, high / 2);
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (enough(middle))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

double equivalence_power(int n, double effect, double margin, double one_sided_p) {
    const double df = n - 1, root = std::sqrt(static_cast<double>(n));
    const double limit = t_upper_quantile(one_sided_p, df);
    const double above = noncentral_t_upper(limit, df, (margin + effect) * root);
    const double below = noncentral_t_upper(limit, df, (margin - effect) * root);
    return std::max(0.0, above + below - 1);
}

}  // namespace

double paired_power(int n, double effect, double one_sided_p) {
    if (n < 2) return 0;
    const double df = n - 1, delta = effect * std::sqrt(static_cast<double>(n));
    const double limit = t_upper_quantile(one_sided_p, df);
    return noncentral_t_upper(limit, df, delta) + noncentral_t_upper(limit, df, -delta);
}

std::optional<double> detectable_effect(int n, double one_sided_p, double power) {
    if (n < 2) return std::nullopt;
    double low = 0, high = 1;
    while (paired_power(n, high, one_sided_p) < power) {
        high *= 2;
        if (high > 1e9) return std::nullopt;
    }
    for (int step = 0; step < 60 && high - low > 1e-9 * high; ++step) {
        const double middle = (low + high) / 2;
        (paired_power(n, middle, one_sided_p) < power ? low : high) = middle;
    }
    return high;
}

std::optional<int> blocks_for_difference(double effect, double one_sided_p, double power) {
    effect = std::abs(effect);
    if (!(effect > 0)) return std::nullopt;
    return least_blocks([&](int n) { return paired_power(n, effect, one_sided_p) >= power; });
}

std::optional<int> blocks_for_equivalence(double effect, double margin, double one_sided_p, double power) {
    if (!(std::abs(effect) < margin)) return std::nullopt;
    return least_blocks([&](int n) { return equivalence_power(n, effect, margin, one_sided_p) >= power; });
}

}  // namespace kab::stats
