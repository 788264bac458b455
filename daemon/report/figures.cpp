#include "daemon/report/figures.h"

#include <fmt/core.h>

#include <cmath>

namespace kab::report {
namespace {

/// Bounds beyond these, and far from the estimate, say only that there is too little data.
constexpr double least_ratio = 0.001, far = 10;

/// ">1000" where the estimate is far below that; else empty.
std::string upper_bound(double bound, double estimate) {
    for (const double most : {1e3, 1e5})
        if (bound > most && estimate < most / far) return fmt::format(">{:.0f}", most);
    return "";
}

/// Three or four figures, without an exponent from 0.001 to 99999.
std::string four(double value) {
    const double size = std::abs(value);
    if (size == 0) return "0";
    if (size < 0.0009995 || size >= 99999.5) return fmt::format("{:.2e}", value);
    const int digits = size >= 999.95     ? 0
                       : size >= 99.995   ? 1
                       : size >= 9.9995   ? 2
                       : size >= 0.09995  ? 3
                       : size >= 0.009995 ? 4
                                          : 5;
    return fmt::format("{:.{}f}", value, digits);
}

std::string thousands(double value) {
    if (value == 0) return "0";  // also -0
    std::string digits = fmt::format("{:.0f}", value);
    const std::size_t first = digits.front() == '-' ? 1 : 0;
    for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
    return digits;
}

std::string count(double value) {
    const double size = std::abs(value);
    if (size >= 999950000) return four(value / 1e9) + " G";
    if (size >= 999950) return four(value / 1e6) + " M";
    if (size >= 1000 || value == std::round(value)) return thousands(value);
    return four(value);
}

std::string time(double ns) {
    const double size = std::abs(ns);
    if (size >= 999.95e6) return four(ns / 1e9) + " s";
    if (size >= 999.95e3) return four(ns / 1e6) + " ms";
    if (size >= 999.95) return four(ns / 1e3) + " us";
    return four(ns) + " ns";
}

}  // namespace

std::string quantity(double value, const std::string& unit) {
    if (unit == "ns") return time(value);
    if (unit == "1" || unit.empty()) return count(value);
    if (unit == "1/s") return count(value) + "/s";
    return fmt::format("{:.4g} {}", value, unit);
}

std::string with_spread(double mean, std::optional<double> relative_sd, const std::string& unit) {
    return fmt::format("{} ±{}", quantity(mean, unit), relative_sd ? share(*relative_sd) : "-");
}

std::string ratio(double value) {
    return four(value);
}

std::string effect(double value, const stats::Series& series) {
    if (series.scale == Scale::log) return ratio(value);
    const std::string text = quantity(value, series.unit);
    return text.front() == '-' ? text : "+" + text;
}

std::string interval(const stats::Estimate& estimate, const stats::Series& series) {
    if (series.scale == Scale::linear) return effect(estimate.low, series) + " to " + effect(estimate.high, series);
    const bool cut = estimate.low < least_ratio && estimate.value > least_ratio * far;
    const auto high = upper_bound(estimate.high, estimate.value);
    return fmt::format("{} to {}", cut ? "<0.001" : ratio(estimate.low), high.empty() ? ratio(estimate.high) : high);
}

std::string p_value(double p) {
    if (p < 0.0001) return "<0.0001";
    return fmt::format("{:.2g}", p);
}

std::string share(double value) {
    const double percent = 100 * std::abs(value);
    if (percent == 0) return "0%";
    if (percent < 0.005) return "<0.01%";
    return fmt::format("{:.{}f}%", 100 * value, percent >= 99.5 ? 0 : percent >= 0.995 ? 1 : 2);
}

}  // namespace kab::report
