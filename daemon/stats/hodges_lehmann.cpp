#include "daemon/stats/hodges_lehmann.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

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

bool neighbours(double low, double high) {
    return std::nextafter(low, high) == high;
}

/// A multiset of differences or averages that is never listed whole: n values have n(n+1)/2 Walsh averages.
/// count(limit): how many are <= limit. collect(low, high): those in (low, high].
template <class Set>
double select(const Set& set, std::int64_t k) {
    double low = std::nextafter(set.least(), -std::numeric_limits<double>::infinity()), high = set.most();
    std::int64_t below = 0, upto = set.count(high);  // always below < k <= upto
    for (int step = 0; upto - below > set.few() && !neighbours(low, high); ++step) {
        // Every third step halves the range of doubles, so that odd distributions cannot stall it.
        const double share = (static_cast<double>(k - below) - 0.5) / static_cast<double>(upto - below);
        double middle = low + (high - low) * share;
        if (step % 3 == 2 || !(middle > low && middle < high))
            middle = from_ordinal(std::midpoint(to_ordinal(low), to_ordinal(high)));
        const std::int64_t at = set.count(middle);
        (at < k ? low : high) = middle;
        (at < k ? below : upto) = at;
    }
    if (neighbours(low, high)) return high;
    std::vector<double> between = set.collect(low, high);
    const auto nth = between.begin() + static_cast<std::ptrdiff_t>(k - below - 1);
    std::nth_element(between.begin(), nth, between.end());
    return *nth;
}

class WalshAverages {
  public:
    explicit WalshAverages(std::span<const double> ascending) : sorted_(ascending) {}
    double least() const { return average(0, 0); }
    double most() const { return average(sorted_.size() - 1, sorted_.size() - 1); }
    std::int64_t few() const { return 4 * static_cast<std::int64_t>(sorted_.size()) + 600; }
    std::int64_t count(double limit) const {
        std::int64_t total = 0;
        std::size_t end = sorted_.size();  // first partner that is too large, for the i at hand
        for (std::size_t i = 0; i < end; ++i) {
            while (end > i && average(i, end - 1) > limit) --end;
            total += static_cast<std::int64_t>(end - i);
        }
        return total;
    }
    std::vector<double> collect(double low, double high) const {
        std::vector<double> found;
        std::size_t begin = sorted_.size(), end = sorted_.size();
        for (std::size_t i = 0; i < end; ++i) {
            while (end > i && average(i, end - 1) > high) --end;
            begin = std::max(std::min(begin, end), i);
            while (begin > i && average(i, begin - 1) > low) --begin;
            for (std::size_t j = begin; j < end; ++j) found.push_back(average(i, j));
        }
        return found;
    }

  private:
    double average(std::size_t i, std::size_t j) const { return sorted_[i] / 2 + sorted_[j] / 2; }

    std::span<const double> sorted_;
};

/// The Walsh averages of a few values, listed in buckets of ascending values: what is wanted is looked for in one of
/// them.
class ListedAverages {
  public:
    static constexpr std::size_t most_values = 64;

    /// False where no bucket can be told from another; then nothing can be selected.
    bool list(std::span<const double> ascending) {
        const double least = ascending.front(), scale = buckets / (ascending.back() - least);
        if (!std::isfinite(scale) || !(scale > 0)) return false;
        std::array<double, most_values> halves;
        for (std::size_t i = 0; i < ascending.size(); ++i) halves[i] = ascending[i] / 2;
        std::size_t all = 0;
        for (std::size_t i = 0; i < ascending.size(); ++i)
            for (std::size_t j = i; j < ascending.size(); ++j) averages_[all++] = halves[i] + halves[j];
        for (std::size_t i = 0; i < all; ++i)
            bucket_[i] = static_cast<int>(std::min((averages_[i] - least) * scale, buckets - 1.0));
        ends_.fill(0);
        for (std::size_t i = 0; i < all; ++i) ++ends_[static_cast<std::size_t>(bucket_[i]) + 1];
        for (std::size_t b = 1; b <= buckets; ++b) ends_[b] += ends_[b - 1];
        // Each bucket's place begins where the one before ends, which is where ends_ stands once all are placed.
        for (std::size_t i = 0; i < all; ++i) placed_[ends_[static_cast<std::size_t>(bucket_[i])]++] = averages_[i];
        return true;
    }
    /// The k-th smallest, k from 1.
    double select(std::int64_t k) {
        const auto at = static_cast<std::uint32_t>(k - 1);
        const auto end = std::upper_bound(ends_.begin(), ends_.begin() + buckets, at);
        const std::uint32_t begin = end == ends_.begin() ? 0 : *(end - 1);
        std::nth_element(placed_.begin() + begin, placed_.begin() + at, placed_.begin() + *end);
        return placed_[at];
    }

  private:
    static constexpr int buckets = 256;
    static constexpr std::size_t most = most_values * (most_values + 1) / 2;

    std::array<double, most> averages_, placed_;
    std::array<int, most> bucket_;
    std::array<std::uint32_t, buckets + 1> ends_;
};

class PairDifferences {
  public:
    PairDifferences(std::span<const double> x, std::span<const double> y)
        : x_(x.begin(), x.end()), y_(y.begin(), y.end()) {
        std::sort(x_.begin(), x_.end());
        std::sort(y_.begin(), y_.end());
    }
    double least() const { return x_.front() - y_.back(); }
    double most() const { return x_.back() - y_.front(); }
    std::int64_t few() const { return 4 * static_cast<std::int64_t>(x_.size() + y_.size()) + 600; }
    std::int64_t count(double limit) const {
        std::int64_t total = 0;
        std::size_t begin = 0;  // first y that is large enough, for the x at hand
        for (const double value : x_) {
            while (begin < y_.size() && value - y_[begin] > limit) ++begin;
            total += static_cast<std::int64_t>(y_.size() - begin);
        }
        return total;
    }
    std::vector<double> collect(double low, double high) const {
        std::vector<double> found;
        std::size_t begin = 0, end = 0;
        for (const double value : x_) {
            while (begin < y_.size() && value - y_[begin] > high) ++begin;
            end = std::max(end, begin);
            while (end < y_.size() && value - y_[end] > low) ++end;
            for (std::size_t j = begin; j < end; ++j) found.push_back(value - y_[j]);
        }
        return found;
    }

  private:
    std::vector<double> x_, y_;
};

struct Pick {
    std::int64_t k = 1;  ///< the interval runs from the k-th smallest to the k-th largest
    double level = 0;
};

Pick pick_exact(const std::vector<double>& cumulative, double level) {
    const double tail = (1 - level) / 2;
    std::size_t k = 0;
    const auto half = cumulative.begin() + static_cast<std::ptrdiff_t>(cumulative.size() / 2);
    k = static_cast<std::size_t>(std::upper_bound(cumulative.begin(), half, tail) - cumulative.begin());
    k = std::max<std::size_t>(k, 1);
    return {static_cast<std::int64_t>(k), 1 - 2 * cumulative[k - 1]};
}

Pick pick_asymptotic(double centre, double variance, double level) {
    const double root = std::sqrt(variance);
    const double k = std::max(1.0, std::floor(centre - normal_upper_quantile((1 - level) / 2) * root + 0.5));
    return {static_cast<std::int64_t>(k), 1 - 2 * normal_upper((centre - k + 0.5) / root)};
}

/// `nth`: the k-th smallest, k from 1.
template <class Nth>
void fill(HodgesLehmann& result, std::int64_t all, const Pick& pick, const Nth& nth) {
    const double upper_middle = nth(all / 2 + 1);
    const double lower_middle = all % 2 == 1 ? upper_middle : nth(all / 2);
    result.estimate = lower_middle + (upper_middle - lower_middle) / 2;
    result.low = nth(pick.k);
    result.high = nth(all + 1 - pick.k);
}

template <class Set>
HodgesLehmann estimate(const Set& set, std::int64_t all, const Pick& pick) {
    HodgesLehmann result;
    result.level = pick.level;
    if (!std::isfinite(set.least()) || !std::isfinite(set.most())) {  // a difference beyond the largest double
        result.estimate = result.low = result.high = std::numeric_limits<double>::quiet_NaN();
        return result;
    }
    fill(result, all, pick, [&](std::int64_t k) { return select(set, k); });
    return result;
}

}  // namespace

HodgesLehmann hodges_lehmann(std::span<const double> differences, double level) {
    std::vector<double> sorted(differences.begin(), differences.end());
    std::sort(sorted.begin(), sorted.end());
    return hodges_lehmann_ascending(sorted, level);
}

HodgesLehmann hodges_lehmann_ascending(std::span<const double> differences, double level) {
    if (differences.empty()) return {};
    const auto n = static_cast<std::int64_t>(differences.size());
    const auto size = static_cast<double>(n);
    const Pick pick = n <= 100 ? pick_exact(signed_rank_cumulative(static_cast<int>(n)), level)
                               : pick_asymptotic(size * (size + 1) / 4, size * (size + 1) * (2 * size + 1) / 24, level);
    if (differences.size() <= ListedAverages::most_values) {
        ListedAverages listed;
        if (listed.list(differences)) {
            HodgesLehmann result;
            result.level = pick.level;
            fill(result, n * (n + 1) / 2, pick, [&](std::int64_t k) { return listed.select(k); });
            return result;
        }
    }
    return estimate(WalshAverages(differences), n * (n + 1) / 2, pick);
}

HodgesLehmann hodges_lehmann_shift(std::span<const double> x, std::span<const double> y, double level) {
    if (x.empty() || y.empty()) return {};
    const auto m = static_cast<double>(x.size()), n = static_cast<double>(y.size());
    const bool small = std::max(x.size(), y.size()) <= 50;
    const Pick pick =
        small ? pick_exact(rank_sum_cumulative(static_cast<int>(x.size()), static_cast<int>(y.size())), level)
              : pick_asymptotic(m * n / 2, m * n * (m + n + 1) / 12, level);
    const auto all = static_cast<std::int64_t>(x.size()) * static_cast<std::int64_t>(y.size());
    return estimate(PairDifferences(x, y), all, pick);
}

}  // namespace kab::stats
