#include "daemon/stats/sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace kab::stats {
namespace {

class Accumulator {
  public:
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

/// The sum of term(0) .. term(n - 1): of many terms every fourth apart and then the four, so that an addition need not
/// wait for the one before it.
template <class Term>
double compensated(std::size_t n, const Term& term) {
    constexpr std::size_t lanes = 4, few = 16;
    Accumulator total;
    std::size_t i = 0;
    if (n >= few) {
        std::array<Accumulator, lanes> lane;
        for (; i + lanes <= n; i += lanes)
            for (std::size_t k = 0; k < lanes; ++k) lane[k].add(term(i + k));
        for (const auto& one : lane) total.add(one);
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
