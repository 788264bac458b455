#include "daemon/fault/fault_point.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace kab {
namespace {

std::array<std::int64_t, fault_points.size()> passings{};
std::size_t armed = fault_points.size();  // none
std::int64_t armed_passing = 0;

}  // namespace

void fault_point(FaultPointName point) {
    if (++passings[point.index] != armed_passing || point.index != armed) return;
    // Unbuffered, so that a test sees that it was here. Nothing else is set in order: that is the point.
    fmt::print(stderr, "kabd kills itself at fault point {}, passing {}\n", fault_points[armed].name, armed_passing);
    for (;;) ::kill(::getpid(), SIGKILL);
}

Status arm_fault_point() {
    const char* given = std::getenv("KAB_FAULT_POINT");
    if (given == nullptr) return {};
    const std::string_view text(given);
    const auto colon = text.find(':');
    const auto name = text.substr(0, colon);
    std::int64_t passing = 1;
    if (colon != std::string_view::npos) {
        const auto* end = text.data() + text.size();
        const auto read = std::from_chars(text.data() + colon + 1, end, passing);
        if (read.ec != std::errc() || read.ptr != end || passing < 1)
            return fail(Fault::usage, "KAB_FAULT_POINT: '{}' is not NAME:N with N from 1", text);
    }
    for (std::size_t i = 0; i < fault_points.size(); ++i) {
        if (fault_points[i].name != name) continue;
        armed = i;
        armed_passing = passing;
        return {};
    }
    return fail(Fault::usage, "KAB_FAULT_POINT: no fault point '{}'; kabd --fault-points lists them", name);
}

std::int64_t fault_point_passings(std::size_t index) {
    return passings.at(index);
}

}  // namespace kab
