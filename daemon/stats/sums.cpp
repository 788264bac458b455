#include "daemon/stats/sums.h"

#include <algorithm>
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
    double total() const { return std::isfinite(lost_) ? sum_ + lost_ : sum_; }

  private:
    double sum_ = 0, lost_ = 0;
};

}  // namespace

double sum(std::span<const double> values) {
    Accumulator total;
    for (const double value : values) total.add(value);
    return total.total();
}

double mean(std::span<const double> values) {
    if (values.empty()) return 0;
    const auto n = static_cast<double>(values.size());
    const double plain = sum(values);
    if (std::isfinite(plain)) return plain / n;
    Accumulator scaled;  // each part is small enough, at the price of a rounding in denormals
    for (const double value : values) scaled.add(value / n);
    return scaled.total();
}

Moments moments(std::span<const double> values) {
    Moments result;
    result.n = values.size();
    result.mean = mean(values);
    if (values.size() < 2) return result;
    Accumulator squares, rest;
    for (const double value : values) {
        const double off = value - result.mean;
        squares.add(off * off);
        rest.add(off);
    }
    const auto n = static_cast<double>(values.size());
    const double correction = rest.total() * rest.total() / n;
    result.variance = std::max(0.0, squares.total() - correction) / (n - 1);
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
