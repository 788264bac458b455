#include "agent/guest/environment.h"

#include <fmt/format.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "agent/guest/perf/machine_busy.h"
#include "agent/guest/text.h"
#include "common/files.h"

namespace kab::guest {
namespace {

/// The kernel log that is still there; empty without CONFIG_PRINTK or permission.
std::string kernel_log() {
    constexpr int read_all = 3, size_of_buffer = 10;
    const int size = ::klogctl(size_of_buffer, nullptr, 0);
    if (size <= 0) return {};
    std::string log(static_cast<std::size_t>(size), '\0');
    const int count = ::klogctl(read_all, log.data(), size);
    log.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return log;
}

std::string sys_value(const fs::path& path) {
    const auto text = read_text(path);
    return text ? std::string(trim(*text)) : std::string();
}

std::map<std::string, std::string> mitigations() {
    std::map<std::string, std::string> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/sys/devices/system/cpu/vulnerabilities", ignored))
        found[entry.path().filename().string()] = sys_value(entry.path());
    return found;
}

bool timers_are_fine(const std::string& timer_list) {
    if (!timer_list.empty()) return high_resolution(timer_list);
    timespec resolution{};
    return ::clock_getres(CLOCK_MONOTONIC, &resolution) == 0 && resolution.tv_sec == 0 && resolution.tv_nsec == 1;
}

struct DebugMark {
    std::string_view text, option;
};

/// Printed at boot by kernels with these options.
constexpr DebugMark log_marks[] = {
    {"Lock dependency validator:", "PROVE_LOCKING"},
    {"KernelAddressSanitizer initialized", "KASAN"},
    {"kmemleak: Kernel memory leak detector initialized", "DEBUG_KMEMLEAK"},
    {"kcsan: enabled early", "KCSAN"},
    {"Starting KernelMemorySanitizer", "KMSAN"},
    {"RCU lockdep checking is enabled", "PROVE_RCU"},
    {"RCU debug extended QS entry/exit", "RCU_EQS_DEBUG"},
    {"kfence: initialized", "KFENCE"},
    {"page_owner is enabled", "PAGE_OWNER"},
    {"ODEBUG: selftest passed", "DEBUG_OBJECTS"},
    {"this is a DEBUG kernel", "trace_printk"},
};

}  // namespace

bool high_resolution(std::string_view timer_list) {
    bool any = false;
    while (!timer_list.empty()) {
        const std::string_view line = trim(next_line(timer_list));
        if (!line.starts_with(".hres_active")) continue;
        if (!line.ends_with(": 1")) return false;
        any = true;
    }
    return any;
}

bool high_resolution_inactive(std::string_view timer_list) {
    // Without CONFIG_HIGH_RES_TIMERS there is no such line.
    return timer_list.find(".hres_active") != std::string_view::npos && !high_resolution(timer_list);
}

std::string lock_kind(std::string_view log, std::string_view cpuinfo, std::string_view version) {
    const auto says = [log](std::string_view text) { return log.find(text) != std::string_view::npos; };
    const bool x86 = !field(cpuinfo, "model name").empty() && !field(cpuinfo, "flags").empty();
    const bool smp = version.find("SMP") != std::string_view::npos;
    if (!x86 || !smp || !says("Linux version")) return "unknown";
    if (says("PV spinlocks enabled")) return "pv";
    if (says("PV spinlocks disabled, no host support")) return "test-and-set";
    if (says("PV spinlocks disabled")) return "queued";
    if (!says("Booting paravirtualized kernel")) return "queued";
    const std::string flags = " " + std::string(field(cpuinfo, "flags")) + " ";
    return flags.find(" hypervisor ") != std::string::npos ? "test-and-set" : "queued";
}

std::vector<std::string> debug_warnings(std::string_view log) {
    std::vector<std::string> warnings;
    for (const DebugMark& mark : log_marks)
        if (log.find(mark.text) != std::string_view::npos)
            warnings.push_back(fmt::format("debug option in the kernel: {}", mark.option));
    return warnings;
}

Status check_lock_validation(std::string_view lockdep_stats) {
    if (lockdep_stats.empty() || field(lockdep_stats, "debug_locks") == "1") return {};
    return fail(Fault::io,
                "the kernel's lock validation is off (/proc/lockdep_stats: debug_locks is not 1), so locks were not "
                "checked: the console says why, a limit such as MAX_LOCKDEP_ENTRIES only with 'loglevel=8' in "
                "kernel.command_line");
}

Status check_lock_validation() {
    return check_lock_validation(read_text("/proc/lockdep_stats").value_or(""));
}

std::string current_clocksource() {
    return sys_value("/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

Status check_clocksource(const std::string& before) {
    const std::string now = current_clocksource();
    if (now == before || (before == "tsc-early" && now == "tsc")) return {};
    return fail(Fault::infra, "the clocksource changed from {} to {} during the runs", before, now);
}

msg::AgentHello describe_environment(std::vector<std::string> problems) {
    msg::AgentHello hello;
    hello.build = KAB_VERSION;
    utsname name{};
    if (::uname(&name) == 0) {
        hello.release = name.release;
        hello.version = name.version;
    }
    hello.command_line = sys_value("/proc/cmdline");
    const std::string cpuinfo = read_text("/proc/cpuinfo").value_or("");
    hello.cpu_model = field(cpuinfo, "model name");
    hello.microcode = field(cpuinfo, "microcode");
    hello.cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    const std::string meminfo = read_text("/proc/meminfo").value_or("");
    const std::string_view total = field(meminfo, "MemTotal");
    hello.memory_bytes = parse_integer(total.substr(0, total.find(' '))).value_or(0) * 1024;
    hello.clocksource = current_clocksource();
    const std::string timer_list = read_text("/proc/timer_list").value_or("");
    hello.high_resolution_timers = timers_are_fine(timer_list);
    hello.high_resolution_inactive = high_resolution_inactive(timer_list);
    hello.governor = sys_value("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    hello.mitigations = mitigations();

    const std::string log = kernel_log();
    hello.lock_kind = lock_kind(log, cpuinfo, hello.version);
    hello.warnings = std::move(problems);
    if (!idle_from_timer_list(timer_list))
        hello.warnings.push_back("machine-busy is in steps of 10 ms: the kernel shows no finer idle times");
    for (auto& warning : debug_warnings(log)) hello.warnings.push_back(std::move(warning));
    return hello;
}

}  // namespace kab::guest
