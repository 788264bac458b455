#include "common/units.h"

#include <array>
#include <charconv>
#include <cmath>

namespace kab {
namespace {

struct Split {
    double number = 0;
    std::string_view unit;
};

/// "1.5h" -> {1.5, "h"}; false when it does not start with a plain decimal number.
bool split(std::string_view text, Split& out) {
    const auto end = text.find_first_not_of("0123456789.");
    const auto digits = text.substr(0, end);
    if (digits.empty()) return false;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.number);
    if (error != std::errc() || stop != digits.data() + digits.size() || !std::isfinite(out.number)) return false;
    out.unit = end == std::string_view::npos ? std::string_view() : text.substr(end);
    return true;
}

}  // namespace

Result<Nanoseconds> parse_duration(std::string_view text) {
    struct Unit {
        std::string_view name;
        double nanoseconds;
    };
    static constexpr std::array<Unit, 7> units{
        {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}}};
    Split parts;
    if (split(text, parts))
        for (const auto& unit : units)
            if (unit.name == parts.unit && parts.number * unit.nanoseconds <= 3650 * 86400e9)
                return Nanoseconds(std::llround(parts.number * unit.nanoseconds));
    return fail(Fault::spec, "'{}' is not a duration: write a number and ms, s, m, h or d, such as 90s", text);
}

Result<std::int64_t> parse_bytes(std::string_view text) {
    struct Unit {
        std::string_view name;
        double bytes;
    };
    static constexpr std::array<Unit, 4> units{
        {{"K", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}, {"T", 1099511627776.0}}};
    Split parts;
    if (split(text, parts))
        for (const auto& unit : units) {
            const bool known = parts.unit == unit.name || parts.unit == std::string(unit.name) + "iB";
            if (known && parts.number * unit.bytes < 9e15) return std::llround(parts.number * unit.bytes);
        }
    return fail(Fault::spec, "'{}' is not a size: write a number and K, M, G or T, such as 512M", text);
}

Result<double> parse_share(std::string_view text) {
    Split parts;
    if (split(text, parts)) {
        if (parts.unit == "%") return parts.number / 100;
        if (parts.unit.empty()) return parts.number;
    }
    return fail(Fault::spec, "'{}' is not a share: write 2% or 0.02", text);
}

std::string format_duration(Nanoseconds duration) {
    const double seconds = static_cast<double>(duration.count()) / 1e9;
    if (seconds < 0) return "-" + format_duration(-duration);
    if (seconds < 1e-3) return fmt::format("{:.0f}us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.0f}ms", seconds * 1e3);
    if (seconds < 59.95) return fmt::format("{:.1f}s", seconds);
    const auto whole = static_cast<long long>(std::llround(seconds));
    if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
    if (whole < 86400) return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
    return fmt::format("{}d {:02}h", whole / 86400, whole / 3600 % 24);
}

std::string format_bytes(std::int64_t bytes) {
    static constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace kab
