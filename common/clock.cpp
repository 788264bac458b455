#include "common/clock.h"

#include <ctime>

namespace kab {

WallTime SystemClock::wall() const {
    return std::chrono::time_point_cast<Nanoseconds>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::steady() const {
    return std::chrono::time_point_cast<Nanoseconds>(std::chrono::steady_clock::now());
}

std::string to_rfc3339(WallTime time) {
    const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return std::string(text, length);
}

}  // namespace kab
