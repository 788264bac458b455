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
#include "daemon/stats/wide.h"

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

/// Ascending places in an ascending list, from 1: lower end of the interval, the two middle values, upper end.
using Places = std::array<std::int64_t, 4>;
using AtPlaces = std::array<double, 4>;

constexpr std::size_t most_listed = 64;  ///< values

/// Walsh averages of at most so many ascending values, a row for each.
KAB_WIDE std::size_t list_averages(std::span<const double> ascending, double* to) {
    std::array<double, most_listed> halves;
    const std::size_t n = ascending.size();
    for (std::size_t i = 0; i < n; ++i) halves[i] = ascending[i] / 2;
    std::size_t all = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double own = halves[i];
        for (std::size_t j = i; j < n; ++j) to[all + j - i] = own + halves[j];
        all += n - i;
    }
    return all;
}

/// (value - least) * scale as a whole number, at most `most`.
KAB_WIDE void number_buckets(std::span<const double> values, double least, double scale, double most, int* to) {
    const std::size_t n = values.size();
    const double* const from = values.data();
    for (std::size_t i = 0; i < n; ++i) {
        const double at = (from[i] - least) * scale;
        to[i] = static_cast<int>(at < most ? at : most);
    }
}

/// The Walsh averages of a few values, counted in buckets of ascending values: only the buckets that are asked for are
/// put in order.
class ListedAverages {
  public:
    /// False where no bucket can be told from another; then nothing can be selected.
    bool list(std::span<const double> ascending) {
        const double least = ascending.front(), scale = buckets / (ascending.back() - least);
        if (!std::isfinite(scale) || !(scale > 0)) return false;
        all_ = list_averages(ascending, averages_.data());
        number_buckets(std::span(averages_.data(), all_), least, scale, buckets - 1.0, bucket_.data());
        ends_.fill(0);
        for (std::size_t i = 0; i < all_; ++i) ++ends_[static_cast<std::size_t>(bucket_[i])];
        std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
        return true;
    }
    AtPlaces select(const Places& places) {
        std::array<std::uint8_t, buckets> wanted{};
        std::array<std::size_t, 4> of_places;
        for (std::size_t p = 0; p < places.size(); ++p) {
            of_places[p] = p > 0 && places[p] == places[p - 1] ? of_places[p - 1] : bucket_of(places[p]);
            wanted[of_places[p]] = 1;
        }
        // Without a jump that depends on the data: a value that is not wanted is written over by the next.
        std::size_t size = 0;
        for (std::size_t i = 0; i < all_; ++i) {
            kept_[size] = averages_[i];
            size += wanted[static_cast<std::size_t>(bucket_[i])];
        }
        std::sort(kept_.begin(), kept_.begin() + size);
        AtPlaces result;
        std::size_t last = buckets, left_out = 0, kept = 0;  // kept: up to the end of the last bucket
        for (std::size_t p = 0; p < places.size(); ++p) {
            const std::size_t bucket = of_places[p];
            if (bucket != last) {
                const std::size_t begin = bucket == 0 ? 0 : ends_[bucket - 1];
                left_out = begin - kept;
                kept += ends_[bucket] - begin;
                last = bucket;
            }
            result[p] = kept_[static_cast<std::size_t>(places[p]) - 1 - left_out];
        }
        return result;
    }

  private:
    static constexpr int buckets = 256;
    static constexpr std::size_t most = most_listed * (most_listed + 1) / 2;

    std::size_t bucket_of(std::int64_t place) const {
        const auto at = static_cast<std::uint32_t>(place - 1);
        return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
    }

    std::array<double, most> averages_, kept_;
    std::array<int, most> bucket_;
    std::array<std::uint32_t, buckets> ends_;  ///< how many averages there are up to the end of each bucket
    std::size_t all_ = 0;
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

/// Of a list of `all` values.
Places places_of(std::int64_t all, const Pick& pick) {
    return {pick.k, (all + 1) / 2, all / 2 + 1, all + 1 - pick.k};
}

HodgesLehmann made_of(const AtPlaces& at, const Pick& pick) {
    return {at[1] + (at[2] - at[1]) / 2, at[0], at[3], pick.level};
}

template <class Set>
HodgesLehmann estimate(const Set& set, std::int64_t all, const Pick& pick) {
    if (!std::isfinite(set.least()) || !std::isfinite(set.most())) {  // a difference beyond the largest double
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        return {none, none, none, pick.level};
    }
    const Places places = places_of(all, pick);
    AtPlaces at;
    for (std::size_t p = 0; p < places.size(); ++p)
        at[p] = p > 0 && places[p] == places[p - 1] ? at[p - 1] : select(set, places[p]);
    return made_of(at, pick);
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
    const std::int64_t all = n * (n + 1) / 2;
    if (differences.size() <= most_listed) {
        ListedAverages listed;
        if (listed.list(differences)) return made_of(listed.select(places_of(all, pick)), pick);
    }
    return estimate(WalshAverages(differences), all, pick);
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
