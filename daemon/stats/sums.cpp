#include "daemon/stats/sums.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "daemon/stats/wide.h"

namespace kab::stats {
namespace {

class Accumulator {
  public:
    Accumulator() = default;
    Accumulator(double sum, double lost) : sum_(sum), lost_(lost) {}
    void add(double value) {
        // What the addition lost, exactly, without asking which of the two is larger (Knuth, The Art of Computer
        // Programming 2, section 4.2.2, theorem B).
        const double next = sum_ + value, part = next - sum_;
        lost_ += (sum_ - (next - part)) + (value - part);
        sum_ = next;
    }
    void add(const Accumulator& other) {
        add(other.sum_);
        lost_ += other.lost_;
    }
    double total() const { return std::isfinite(lost_) ? sum_ + lost_ : sum_; }

  private:
    double sum_ = 0, lost_ = 0;
};

constexpr std::size_t few = 16;

/// What Accumulator does.
struct WideAccumulator {
    Lanes sum{}, lost{};

    [[gnu::always_inline]] void add(const Lanes& value) {
        const Lanes next = sum + value, part = next - sum;
        lost += (sum - (next - part)) + (value - part);
        sum = next;
    }
};

/// The sum of term(0) .. term(n - 1): of many terms every fourth apart and then the four, so that an addition need not
/// wait for the one before it, and a wide register can take all four.
template <class Term>
[[gnu::always_inline]] inline double compensated(std::size_t n, const Term& term) {
    Accumulator total;
    std::size_t i = 0;
    if (n >= few) {
        WideAccumulator wide;
        for (; i + lanes <= n; i += lanes) wide.add(Lanes{term(i), term(i + 1), term(i + 2), term(i + 3)});
        for (std::size_t k = 0; k < lanes; ++k) total.add(Accumulator(wide.sum[k], wide.lost[k]));
    }
    for (; i < n; ++i) total.add(term(i));
    return total.total();
}

}  // namespace

KAB_WIDE double sum(std::span<const double> values) {
    return compensated(values.size(), [&](std::size_t i) { return values[i]; });
}

double mean(std::span<const double> values) {
    if (values.empty()) return 0;
    const auto n = static_cast<double>(values.size());
    const double plain = sum(values);
    if (std::isfinite(plain)) return plain / n;
    // Each part is small enough, at the price of a rounding in denormals.
    return compensated(values.size(), [&](std::size_t i) { return values[i] / n; });
}

KAB_WIDE void row_means(std::span<const double> table, std::size_t width, std::span<double> to) {
    std::size_t row = 0;
    const auto n = static_cast<double>(width);
    if (width < few)
        for (; row + lanes <= to.size(); row += lanes) {
            const double* const at = table.data() + row * width;
            WideAccumulator wide;
            for (std::size_t i = 0; i < width; ++i)
                wide.add(Lanes{at[i], at[width + i], at[2 * width + i], at[3 * width + i]});
            for (std::size_t k = 0; k < lanes; ++k) {
                const double plain = Accumulator(wide.sum[k], wide.lost[k]).total();
                to[row + k] = std::isfinite(plain) ? plain / n : mean(table.subspan((row + k) * width, width));
            }
        }
    for (; row < to.size(); ++row) to[row] = mean(table.subspan(row * width, width));
}

KAB_WIDE Moments moments(std::span<const double> values) {
    Moments result;
    result.n = values.size();
    result.mean = mean(values);
    if (values.size() < 2) return result;
    const double rest = compensated(values.size(), [&](std::size_t i) { return values[i] - result.mean; });
    const double squares = compensated(values.size(), [&](std::size_t i) {
        const double off = values[i] - result.mean;
        return off * off;
    });
    const auto n = static_cast<double>(values.size());
    result.variance = std::max(0.0, squares - rest * rest / n) / (n - 1);
    return result;
}

double quantile(std::span<const double> values, double q) {
    if (values.empty()) return 0;
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const double at = q * static_cast<double>(sorted.size() - 1), below = std::floor(at);
    const auto i = static_cast<std::size_t>(below);
    if (i + 1 >= sorted.size()) return sorted.back();
    return std::lerp(sorted[i], sorted[i + 1], at - below);
}

double median(std::span<const double> values) {
    if (values.empty()) return 0;
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : sorted[half - 1] + (sorted[half] - sorted[half - 1]) / 2;
}

}  // namespace kab::stats
