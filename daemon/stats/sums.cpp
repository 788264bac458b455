#include "daemon/stats/sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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

constexpr std::size_t lanes = 4, few = 16;

/// The sum of term(0) .. term(n - 1): of many terms every fourth apart and then the four, so that an addition need not
/// wait for the one before it, and a wide register can take all four.
template <class Term>
[[gnu::always_inline]] inline double compensated(std::size_t n, const Term& term) {
    Accumulator total;
    std::size_t i = 0;
    if (n >= few) {
        std::array<double, lanes> sums{}, lost{};
        for (; i + lanes <= n; i += lanes)
            for (std::size_t k = 0; k < lanes; ++k) {
                const double value = term(i + k), next = sums[k] + value, part = next - sums[k];
                lost[k] += (sums[k] - (next - part)) + (value - part);
                sums[k] = next;
            }
        for (std::size_t k = 0; k < lanes; ++k) total.add(Accumulator(sums[k], lost[k]));
    }
    for (; i < n; ++i) total.add(term(i));
    return total.total();
}

}  // namespace

double sum(std::span<const double> values) {
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

void row_means(std::span<const double> table, std::size_t width, std::span<double> to) {
    std::size_t row = 0;
    const auto n = static_cast<double>(width);
    if (width < few)
        for (; row + lanes <= to.size(); row += lanes) {
            const double* const at = table.data() + row * width;
            std::array<double, lanes> sums{}, lost{};
            for (std::size_t i = 0; i < width; ++i)
                for (std::size_t k = 0; k < lanes; ++k) {
                    const double value = at[k * width + i], next = sums[k] + value, part = next - sums[k];
                    lost[k] += (sums[k] - (next - part)) + (value - part);
                    sums[k] = next;
                }
            for (std::size_t k = 0; k < lanes; ++k) {
                const double plain = Accumulator(sums[k], lost[k]).total();
                to[row + k] = std::isfinite(plain) ? plain / n : mean(table.subspan((row + k) * width, width));
            }
        }
    for (; row < to.size(); ++row) to[row] = mean(table.subspan(row * width, width));
}

Moments moments(std::span<const double> values) {
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
