#include "agent/guest/perf/machine_busy.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "agent/guest/text.h"

namespace kab::guest {
namespace {

/// N of "now at N nsecs" or of "  .idle_sleeptime : N nsecs".
std::optional<std::int64_t> number_in(std::string_view line, std::string_view before) {
    const auto at = line.find(before);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view rest = trim(line.substr(at + before.size()));
    return parse_integer(rest.substr(0, rest.find(' ')));
}

struct CpuIdle {
    std::int64_t slept_ns = 0, entered_ns = 0;
    bool tick_stopped = false;

    std::int64_t total_at(std::int64_t now_ns) const {
        return slept_ns + (tick_stopped ? std::max<std::int64_t>(0, now_ns - entered_ns) : 0);
    }
};

/// With nohz_full= a stopped tick does not mean that the CPU is idle.
bool has_tickless_busy_cpus() {
    const auto cpus = read_text("/sys/devices/system/cpu/nohz_full");
    return cpus && !trim(*cpus).empty() && trim(*cpus) != "(null)";
}

}  // namespace

Result<IdleSnapshot> idle_from_timer_list(std::string_view timer_list) {
    IdleSnapshot snapshot;
    std::optional<CpuIdle> cpu;
    bool any_idle_time = false;
    const auto finish_cpu = [&] {
        if (cpu) snapshot.idle_ns += cpu->total_at(snapshot.now_ns);
        cpu.reset();
    };
    while (!timer_list.empty()) {
        const std::string_view line = trim(next_line(timer_list));
        if (line.starts_with("now at ")) {
            snapshot.now_ns = number_in(line, "now at ").value_or(0);
        } else if (line.starts_with("cpu: ")) {
            finish_cpu();
            cpu.emplace();
            ++snapshot.cpus;
        } else if (line.starts_with("Tick Device:")) {
            finish_cpu();
        } else if (cpu && line.starts_with(".")) {
            const std::int64_t value = number_in(line, ": ").value_or(0);
            if (line.starts_with(".idle_sleeptime") || line.starts_with(".iowait_sleeptime")) {
                cpu->slept_ns += value;
                any_idle_time = true;
            } else if (line.starts_with(".idle_entrytime")) {
                cpu->entered_ns = value;
            } else if (line.starts_with(".tick_stopped")) {
                cpu->tick_stopped = value != 0;
            }
        }
    }
    finish_cpu();
    if (!any_idle_time || snapshot.now_ns == 0)
        return fail(Fault::not_found, "/proc/timer_list has no idle times (the kernel was built without NO_HZ)");
    return snapshot;
}

Result<IdleSnapshot> idle_from_stat(std::string_view stat, std::int64_t now_ns) {
    constexpr std::int64_t ns_per_step = 10000000;  // USER_HZ is 100 on every architecture we know
    IdleSnapshot snapshot;
    snapshot.now_ns = now_ns;
    bool found = false;
    while (!stat.empty()) {
        std::string_view line = next_line(stat);
        if (!line.starts_with("cpu")) continue;
        if (line[3] != ' ') {
            ++snapshot.cpus;
            continue;
        }
        line = trim(line.substr(3));
        for (int column = 0; column < 5 && !line.empty(); ++column) {  // user nice system idle iowait
            const auto value = parse_integer(line.substr(0, line.find(' ')));
            if (!value) return fail(Fault::io, "/proc/stat: not understood: {}", line);
            if (column >= 3) snapshot.idle_ns += *value * ns_per_step;
            found = column >= 3;
            line = trim(line.substr(std::min(line.size(), line.find(' '))));
        }
    }
    if (!found || snapshot.cpus == 0) return fail(Fault::not_found, "/proc/stat has no idle times");
    return snapshot;
}

Result<IdleSnapshot> idle_now() {
    if (!has_tickless_busy_cpus())
        if (const auto text = read_text("/proc/timer_list"))
            if (auto snapshot = idle_from_timer_list(*text)) return snapshot;
    timespec now{};
    if (::clock_gettime(CLOCK_MONOTONIC, &now) != 0) return fail_errno(errno, "clock_gettime");
    const auto text = read_text("/proc/stat");
    if (!text) return fail(Fault::not_found, "neither /proc/timer_list nor /proc/stat can be read");
    return idle_from_stat(*text, std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec);
}

Result<std::int64_t> busy_between(const IdleSnapshot& from, const IdleSnapshot& to) {
    if (from.cpus != to.cpus)
        return fail(Fault::io, "the number of CPUs changed from {} to {} during the run", from.cpus, to.cpus);
    const std::int64_t available = (to.now_ns - from.now_ns) * from.cpus;
    return std::max<std::int64_t>(0, available - (to.idle_ns - from.idle_ns));
}

}  // namespace kab::guest
