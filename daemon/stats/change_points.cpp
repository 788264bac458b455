#include "daemon/stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "daemon/stats/random.h"

namespace kab::stats {
namespace {

struct Split {
    int index = 0;  ///< within the segment
    double q = 0;
};

double energy(double across, double before, double after, double n, double m) {
    const double distance = 2 / (n * m) * across - 2 / (n * (n - 1)) * before - 2 / (m * (m - 1)) * after;
    return n * m / (n + m) * distance;
}

/// The best split of a segment; q = 0 when it is too short or nothing differs.
Split best_split(std::span<const double> x, int least) {
    const int length = static_cast<int>(x.size());
    Split best;
    if (length < 2 * least) return best;
    const auto at = [&](int i) { return x[static_cast<std::size_t>(i)]; };
    double across = 0, before = 0, after = 0;
    for (int i = 0; i < length; ++i)
        for (int k = i + 1; k < length; ++k) after += std::abs(at(i) - at(k));
    for (int split = 1; split <= length - least; ++split) {
        // The value before the split moves from behind it.
        double to_before = 0, to_after = 0;
        for (int k = 0; k < split - 1; ++k) to_before += std::abs(at(split - 1) - at(k));
        for (int k = split; k < length; ++k) to_after += std::abs(at(split - 1) - at(k));
        across += to_after - to_before;
        before += to_before;
        after -= to_after;
        if (split < least) continue;
        const double q = energy(across, before, after, split, length - split);
        if (q > best.q) best = {split, q};
    }
    return best;
}

class Search {
  public:
    Search(std::span<const double> series, const ChangePointOptions& options)
        : series_(series.begin(), series.end()), options_(options), least_(std::max(2, options.least_segment)) {
        bounds_ = {0, static_cast<int>(series.size())};
        splits_ = {best_split(series_, least_)};
    }

    std::vector<ChangePoint> run() {
        std::vector<ChangePoint> found;
        while (auto next = significant()) {
            found.push_back(*next);
            split_at(next->index);
        }
        return found;
    }

  private:
    std::span<const double> segment(std::size_t i) const {
        return std::span(series_).subspan(static_cast<std::size_t>(bounds_[i]),
                                          static_cast<std::size_t>(bounds_[i + 1] - bounds_[i]));
    }

    std::optional<ChangePoint> significant() {
        std::size_t best = 0;
        for (std::size_t i = 1; i < splits_.size(); ++i)
            if (splits_[i].q > splits_[best].q) best = i;
        ChangePoint point{bounds_[best] + splits_[best].index, splits_[best].q, 1};
        if (!(point.q > 0)) return std::nullopt;
        SplitMix random(derive_seed(options_.seed, splits_.size()));
        int as_large = 0;
        for (int drawn = 1; drawn <= options_.permutations; ++drawn) {
            // Up to rounding: an order that says the same must count as the same.
            as_large += permuted(random) >= point.q * (1 - 1e-12) ? 1 : 0;
            if (1 + as_large > options_.alpha * (1 + options_.permutations)) return std::nullopt;
        }
        point.p = (1.0 + as_large) / (1.0 + options_.permutations);
        return point;
    }

    /// The largest q of the segments, each with its values in random order.
    double permuted(SplitMix& random) const {
        double largest = 0;
        for (std::size_t i = 0; i + 1 < bounds_.size(); ++i) {
            const auto values = segment(i);
            std::vector<double> order(values.begin(), values.end());
            random.shuffle(order);
            largest = std::max(largest, best_split(order, least_).q);
        }
        return largest;
    }

    void split_at(int index) {
        const auto where = std::lower_bound(bounds_.begin(), bounds_.end(), index);
        const auto i = static_cast<std::size_t>(where - bounds_.begin()) - 1;
        bounds_.insert(where, index);
        splits_[i] = best_split(segment(i), least_);
        splits_.insert(splits_.begin() + static_cast<std::ptrdiff_t>(i) + 1, best_split(segment(i + 1), least_));
    }

    std::vector<double> series_;
    ChangePointOptions options_;
    int least_;
    std::vector<int> bounds_;    ///< of the segments, first and end included
    std::vector<Split> splits_;  ///< the best of each segment
};

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> series, const ChangePointOptions& options) {
    for (const double value : series)
        if (!std::isfinite(value)) return {};
    if (series.empty()) return {};
    return Search(series, options).run();
}

}  // namespace kab::stats
