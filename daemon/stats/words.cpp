#include "daemon/stats/words.h"

#include <fmt/compile.h>

#include <cmath>

namespace kab::stats {

std::string percent(double share) {
    const double value = 100 * share, size = std::abs(value);
    if (size == 0) return "0%";
    if (!std::isfinite(value))
        return share > 0 ? "over +1e308%" : "under -1e308%";  // of a bound that is barely a number
    if (size >= 1e6) return fmt::format(FMT_COMPILE("{:+.3g}%"), value);
    if (size >= 10) return fmt::format(FMT_COMPILE("{:+.1f}%"), value);
    if (size >= 0.1) return fmt::format(FMT_COMPILE("{:+.2f}%"), value);
    return fmt::format(FMT_COMPILE("{:+.2g}%"), value);
}

std::string p_text(double p) {
    if (p < 0.0001) return "p < 0.0001";
    return fmt::format(FMT_COMPILE("p = {:.2g}"), p);
}

std::string plain_percent(double share) {
    return fmt::format(FMT_COMPILE("{:.4g}%"), 100 * share);
}

std::string change(double value, Scale scale, const std::string& unit) {
    if (scale == Scale::log) return percent(value - 1);
    const std::string number = value == 0 ? "0" : fmt::format(FMT_COMPILE("{:+.4g}"), value);
    return unit.empty() || unit == "1" ? number : number + " " + unit;
}

std::string listed(const std::vector<int>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i == 10) return text + fmt::format(FMT_COMPILE(", ... ({} in all)"), numbers.size());
        text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    }
    return text;
}

std::string counted(long long n, const char* noun) {
    return fmt::format(FMT_COMPILE("{} {}{}"), n, noun, n == 1 ? "" : "s");
}

}  // namespace kab::stats
