#include "daemon/stats/hodges_lehmann.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "daemon/stats/distributions.h"
#include "daemon/stats/rank_distributions.h"

namespace kab::stats {
namespace {

// Doubles as whole numbers in the same order, so that bisection ends at a neighbour.
std::int64_t to_ordinal(double value) {
    const auto bits = std::bit_cast<std::int64_t>(value + 0.0);
    return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}
double from_ordinal(std::int64_t ordinal) {
    return std::bit_cast<double>(ordinal < 0 ? std::numeric_limits<std::int64_t>::min() - ordinal : ordinal);
}

/// The k-th smallest (from 1) of a multiset known by `count`, how many are <= a value. Never lists the
/// multiset: n values have n(n+1)/2 Walsh averages.
template <class Count>
double select(std::int64_t k, double low, double high, const Count& count) {
    std::int64_t below = to_ordinal(low), above = to_ordinal(high);
    while (below < above) {
        const std::int64_t middle = below + (above - below) / 2;
        if (count(from_ordinal(middle)) >= k)
            above = middle;
        else
            below = middle + 1;
    }
    return from_ordinal(below);
}

struct Pick {
    std::int64_t k = 1;  ///< the interval runs from the k-th smallest to the k-th largest
    double level = 0;
};

Pick pick_exact(const std::vector<double>& cumulative, double level) {
    const double tail = (1 - level) / 2;
    std::size_t k = 0;
    while (k < cumulative.size() / 2 && cumulative[k] <= tail) ++k;
    k = std::max<std::size_t>(k, 1);
    return {static_cast<std::int64_t>(k), 1 - 2 * cumulative[k - 1]};
}

Pick pick_asymptotic(double centre, double variance, double level) {
    const double root = std::sqrt(variance);
    const double k = std::max(1.0, std::floor(centre - normal_upper_quantile((1 - level) / 2) * root + 0.5));
    return {static_cast<std::int64_t>(k), 1 - 2 * normal_upper((centre - k + 0.5) / root)};
}

template <class Count>
HodgesLehmann estimate(std::int64_t all, double low, double high, const Pick& pick, const Count& count) {
    HodgesLehmann result;
    const double upper_middle = select(all / 2 + 1, low, high, count);
    const double lower_middle = all % 2 == 1 ? upper_middle : select(all / 2, low, high, count);
    result.estimate = lower_middle + (upper_middle - lower_middle) / 2;
    result.low = select(pick.k, low, high, count);
    result.high = select(all + 1 - pick.k, low, high, count);
    result.level = pick.level;
    return result;
}

}  // namespace

HodgesLehmann hodges_lehmann(std::span<const double> differences, double level) {
    if (differences.empty()) return {};
    std::vector<double> sorted(differences.begin(), differences.end());
    std::sort(sorted.begin(), sorted.end());
    const auto n = static_cast<std::int64_t>(sorted.size());
    const auto count = [&](double limit) {
        std::int64_t total = 0, j = n - 1;
        for (std::int64_t i = 0; i < n && i <= j; ++i) {
            while (j >= i && sorted[static_cast<std::size_t>(i)] / 2 + sorted[static_cast<std::size_t>(j)] / 2 > limit)
                --j;
            total += j - i + 1;
        }
        return total;
    };
    const auto size = static_cast<double>(n);
    const Pick pick = n <= 100 ? pick_exact(signed_rank_cumulative(static_cast<int>(n)), level)
                               : pick_asymptotic(size * (size + 1) / 4, size * (size + 1) * (2 * size + 1) / 24, level);
    return estimate(n * (n + 1) / 2, sorted.front(), sorted.back(), pick, count);
}

HodgesLehmann hodges_lehmann_shift(std::span<const double> x, std::span<const double> y, double level) {
    if (x.empty() || y.empty()) return {};
    std::vector<double> a(x.begin(), x.end()), b(y.begin(), y.end());
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    const auto count = [&](double limit) {
        std::int64_t total = 0;
        std::size_t below = 0;  // a ascending: the first y with x - y <= limit only moves up
        for (const double value : a) {
            while (below < b.size() && value - b[below] > limit) ++below;
            total += static_cast<std::int64_t>(b.size() - below);
        }
        return total;
    };
    const auto m = static_cast<double>(a.size()), n = static_cast<double>(b.size());
    const bool small = std::max(a.size(), b.size()) <= 50;
    const Pick pick =
        small ? pick_exact(rank_sum_cumulative(static_cast<int>(a.size()), static_cast<int>(b.size())), level)
              : pick_asymptotic(m * n / 2, m * n * (m + n + 1) / 12, level);
    const auto all = static_cast<std::int64_t>(a.size()) * static_cast<std::int64_t>(b.size());
    return estimate(all, a.front() - b.back(), a.back() - b.front(), pick, count);
}

}  // namespace kab::stats
