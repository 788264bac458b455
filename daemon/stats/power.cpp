#include "daemon/stats/power.h"

#include <algorithm>
#include <cmath>

#include "daemon/stats/distributions.h"

namespace kab::stats {
namespace {

/// The least n in [2, most] for which `enough` holds, given that it stays true once it is.
template <class Enough>
std::optional<int> least_blocks(int most, const Enough& enough) {
    int high = 2;
    while (!enough(high)) {
        if (high >= most) return std::nullopt;
        high = std::min(high * 2, most);
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
    const auto off = [&](double effect) { return paired_power(n, effect, one_sided_p) - power; };
    double low = 0, high = 1, off_high = off(high);
    while (off_high < 0) {
        high *= 2;
        if (high > 1e9) return std::nullopt;
        off_high = off(high);
    }
    double off_low = high > 1 ? off(high / 2) : off(0);
    if (high > 1) low = high / 2;
    if (off_low >= 0) return low;
    // False position (Illinois) in the bracket.
    double effect = low;
    int side = 0;
    for (int step = 0; step < 100; ++step) {
        const double next = low - off_low * (high - low) / (off_high - off_low);
        const double moved = std::abs(next - effect);
        effect = next;
        const double here = off(effect);
        if (here == 0 || moved <= 1e-12 * effect) break;
        const bool below = here < 0;
        (below ? low : high) = effect;
        (below ? off_low : off_high) = here;
        if (side == (below ? -1 : 1)) (below ? off_high : off_low) /= 2;
        side = below ? -1 : 1;
    }
    return effect;
}

std::optional<int> blocks_for_difference(double effect, double one_sided_p, double power, int most) {
    effect = std::abs(effect);
    if (!(effect > 0)) return std::nullopt;
    return least_blocks(most, [&](int n) { return paired_power(n, effect, one_sided_p) >= power; });
}

std::optional<int> blocks_for_equivalence(double effect, double margin, double one_sided_p, double power, int most) {
    if (!(std::abs(effect) < margin)) return std::nullopt;
    return least_blocks(most, [&](int n) { return equivalence_power(n, effect, margin, one_sided_p) >= power; });
}

}  // namespace kab::stats
