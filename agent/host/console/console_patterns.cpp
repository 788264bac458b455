#include "agent/host/console/console_patterns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <vector>

#include "agent/host/console/needles.h"

namespace kab {
namespace {

using enum ConsoleKind;

enum class Where {
    anywhere,  ///< but not as the end of a longer word ("DEBUG:" is not "BUG:")
    start,     ///< of the line
};

struct Pattern {
    ConsoleKind kind;
    std::string_view needle;
    Where where = Where::anywhere;
    std::string_view also = {};      ///< must occur too
    const char* severity = nullptr;  ///< nullptr: that of the kind
    bool innocent = false;
};

constexpr Pattern innocent(std::string_view needle, Where where = Where::anywhere) {
    return {none, needle, where, {}, nullptr, true};
}
/// The same for what opens a whole report that means nothing: `needle` is a module made to produce them.
constexpr Pattern innocent_report(std::string_view needle) {
    return {none, needle, Where::anywhere, needle, nullptr, true};
}

/// In order of precedence: the first that matches a line names it.
constexpr Pattern patterns[] = {
    // What looks like a fault and is none.
    innocent("Command line: ", Where::start),
    innocent("Kernel command line: ", Where::start),
    innocent("Unknown kernel command line parameters", Where::start),
    innocent("kab-agent: ", Where::start),

    // Before what is innocent elsewhere: whatever else a line says, after this nothing goes on.
    {panic, "Kernel panic - not syncing"},
    {panic, "PANIC: double fault"},
    {panic, "PANIC: early exception"},
    {panic, "-- System halted"},

    innocent("INFO: lockdep is turned off"),
    innocent("INFO: NMI handler (", Where::start),  // "... took too long to run"
    innocent("Stall ended before state dump start"),
    innocent("WARNING: Unprivileged eBPF is enabled"),
    innocent("ODEBUG: selftest passed", Where::start),
    innocent_report("[kasan_test]"),
    innocent_report("[kfence_test]"),

    {sanitizer, "BUG: KASAN:"},
    {sanitizer, "BUG: KFENCE:"},
    {sanitizer, "BUG: KMSAN:"},
    {sanitizer, "BUG: KCSAN:"},
    {sanitizer, "UBSAN:", Where::start},
    {sanitizer, "unreferenced object 0x", Where::start},
    {sanitizer, "ODEBUG:"},

    {lockup, "BUG: soft lockup - CPU#"},
    {lockup, "Watchdog detected hard LOCKUP"},
    {lockup, "BUG: workqueue lockup - pool"},
    {lockup, "lockup suspected"},
    {lockup, "smp: csd: "},
    {hung_task, "INFO: task ", Where::anywhere, "blocked for more than"},
    {hung_task, "INFO: task ", Where::anywhere, "blocked in I/O wait"},
    {rcu_stall, "self-detected stall on CPU"},
    {rcu_stall, "detected stalls on CPUs/tasks"},
    {rcu_stall, "detected stalls on tasks"},
    {rcu_stall, "detected expedited stalls"},
    {rcu_stall, "kthread starved for"},
    {rcu_stall, "suspicious RCU usage"},

    {lockdep, "possible circular locking dependency"},
    {lockdep, "possible recursive locking"},
    {lockdep, "possible irq lock inversion"},
    {lockdep, "-safe -> "},
    {lockdep, "inconsistent lock state"},
    {lockdep, "BUG: Invalid wait context"},
    {lockdep, "[ BUG: Invalid wait context"},
    {lockdep, "bad unlock balance"},
    {lockdep, "held lock freed"},
    {lockdep, "lock held when returning to user space"},
    {lockdep, "trying to register non-static key"},
    {lockdep, "BUG: MAX_", Where::start, "too low!"},  // the limits themselves are listed at every boot

    {oops, "BUG: unable to handle"},
    {oops, "BUG: kernel NULL pointer dereference"},
    {oops, "Unable to handle kernel"},
    {oops, "stack guard page was hit"},
    {oops, "Oops:", Where::start},
    {oops, "Oops -", Where::start},
    {oops, "Internal error:", Where::start},
    {oops, "general protection fault", Where::start},
    {oops, "stack segment:", Where::start},
    {oops, "divide error:", Where::start},
    {oops, "invalid opcode:", Where::start},
    {oops, "int3:", Where::start},
    {oops, "Unhandled fault:"},
    {oops, "Alignment trap:"},

    {bug, "kernel BUG at"},
    {bug, "BUG: Bad page state"},
    {bug, "BUG: Bad page cache"},
    {bug, "BUG: Bad page map"},
    {bug, "Bad rss-counter state"},
    {bug, "sleeping function called from invalid context"},
    {bug, "scheduling while atomic"},
    {bug, "in preemptible", Where::anywhere, "using "},
    {bug, "workqueue leaked lock or atomic"},
    {bug, "still in use", Where::anywhere, "Dentry"},
    {bug, "BUG:", Where::start},
    {bug, "BUG ", Where::start, "ainted"},  // SLUB: "BUG kmalloc-64 (Not tainted): Poison overwritten"

    {warning, "WARNING: CPU: ", Where::start},
    {warning, "WARNING: ", Where::start, " at "},
    {warning, "refcount_t:"},
    {warning, "nobody cared", Where::anywhere, "irq "},
    {warning, "sysfs: cannot create duplicate filename"},
    {warning, "CFI failure at"},

    {oom, "invoked oom-killer: gfp_mask="},
    {oom, "Out of memory: Kill"},
    {oom, "Out of memory and no killable processes"},
    {oom, "Memory cgroup out of memory"},
    {oom, "page allocation failure: order:", Where::anywhere, {}, "warning"},

    {boot, "Initramfs unpacking failed:"},

    {timer, "APIC timer disabled due to verification failure"},
    {timer, "MP-BIOS bug: 8254 timer not connected to IO-APIC"},
    {timer, "Could not switch to high resolution mode"},
    {timer, "Marking TSC unstable"},
    {timer, "Marking clocksource 'tsc", Where::anywhere, "unstable"},
};

const char* severity_of(ConsoleKind kind) {
    switch (kind) {
        case panic:
        case oops: return "fatal";
        case warning:
        case timer: return "warning";
        default: return "error";
    }
}

const Needles& needles() {
    static const Needles built = [] {
        std::vector<std::string_view> words;
        for (const auto& pattern : patterns) words.push_back(pattern.needle);
        return Needles(words);
    }();
    return built;
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool applies(const Pattern& pattern, std::string_view line, std::size_t at) {
    if (pattern.where == Where::start && at != 0) return false;
    // A needle that begins inside a word is part of another: DEBUG:, _INFO:
    if (at > 0 && is_word(line[at]) && is_word(line[at - 1])) return false;
    return pattern.also.empty() || line.find(pattern.also) != std::string_view::npos;
}

/// "WARNING: kernel/foo.c:12 at func": a place in the sources stands between.
bool names_source_line(std::string_view line) {
    const auto place = line.substr(std::string_view("WARNING: ").size());
    const auto end = place.find(" at ");
    const auto colon = place.substr(0, end).rfind(':');
    return colon != std::string_view::npos && place.substr(0, end).find(' ') == std::string_view::npos &&
           colon + 1 < end && std::isdigit(static_cast<unsigned char>(place[colon + 1])) != 0;
}

/// Behind "[   12.345678]" (with_point) or "[  T12]" at the beginning of `text`; text.size() + 1 if it is not there.
std::size_t skip_bracket(std::string_view text, std::string_view letter, bool with_point) {
    const std::size_t absent = text.size() + 1;
    if (text.empty() || text.front() != '[') return absent;
    const auto end = text.find(']');
    if (end == std::string_view::npos || end > 20) return absent;
    auto content = text.substr(1, end - 1);
    while (!content.empty() && content.front() == ' ') content.remove_prefix(1);
    if (!content.starts_with(letter)) return absent;
    content.remove_prefix(letter.size());
    const bool numeric = !content.empty() && content.find_first_not_of("0123456789.") == std::string_view::npos;
    return numeric && (content.find('.') != std::string_view::npos) == with_point ? end + 1 : absent;
}

}  // namespace

const char* to_string(ConsoleKind kind) {
    switch (kind) {
        case none: return "none";
        case panic: return "panic";
        case oops: return "oops";
        case bug: return "bug";
        case warning: return "warning";
        case lockup: return "lockup";
        case hung_task: return "hung-task";
        case rcu_stall: return "rcu-stall";
        case lockdep: return "lockdep";
        case sanitizer: return "sanitizer";
        case oom: return "oom";
        case boot: return "boot";
        case timer: return "timer";
    }
    return "none";
}

ConsoleMatch match_console_line(std::string_view line) {
    std::size_t best = std::size(patterns);
    needles().search(line, [&](Needles::Hit hit) {
        if (hit.needle >= best || !applies(patterns[hit.needle], line, hit.at)) return;
        const Pattern& pattern = patterns[hit.needle];
        if (pattern.kind == warning && pattern.also == " at " && !names_source_line(line)) return;
        best = hit.needle;
    });
    if (best == std::size(patterns)) return {};
    const Pattern& pattern = patterns[best];
    const char* severity = pattern.severity != nullptr ? pattern.severity : severity_of(pattern.kind);
    if (pattern.innocent) return {none, "", line, !pattern.also.empty()};
    return {pattern.kind, severity, line, false};
}

namespace {

/// The line without "\r" before it and "<N>".
std::string_view without_level(std::string_view line) {
    while (!line.empty() && line.front() == '\r') line.remove_prefix(1);
    if (line.size() > 2 && line[0] == '<') {
        const auto end = line.find('>');
        const auto digits = line.substr(1, end - 1);
        if (end != std::string_view::npos && end <= 4 &&
            std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); })) {
            line.remove_prefix(end + 1);
        }
    }
    return line;
}

}  // namespace

std::optional<double> console_time(std::string_view line) {
    line = without_level(line);
    const auto end = skip_bracket(line, "", true);
    if (end > line.size()) return std::nullopt;
    const auto begin = line.find_first_of("0123456789.");
    double seconds = 0;
    const auto parsed = std::from_chars(line.data() + begin, line.data() + end - 1, seconds);
    if (parsed.ec != std::errc{}) return std::nullopt;
    return seconds;
}

std::string_view strip_console_prefix(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    line = without_level(line);
    // Either may be there without the other: printk.time=0, CONFIG_PRINTK_CALLER=n.
    const auto after_time = skip_bracket(line, "", true);
    const bool timed = after_time <= line.size();
    if (timed) line.remove_prefix(after_time);
    const auto tag = timed ? std::min(line.find_first_not_of(' '), line.size()) : 0;
    bool tagged = false;
    for (const std::string_view letter : {"T", "C"}) {
        const auto rest = line.substr(tag);
        const auto after_tag = skip_bracket(rest, letter, false);
        if (after_tag > rest.size()) continue;
        line = rest.substr(after_tag);
        tagged = true;
        break;
    }
    if ((timed || tagged) && !line.empty() && line.front() == ' ') line.remove_prefix(1);
    return line;
}

bool is_report_line(std::string_view line) {
    if (line.empty() || line.front() == ' ' || line.front() == '\t') return true;
    if (line.find("+0x") != std::string_view::npos) return true;
    static constexpr std::string_view beginnings[] = {
        "Call Trace",
        "RIP:",
        "RSP:",
        "RAX:",
        "RBP:",
        "RDX:",
        "R10:",
        "R13:",
        "FS:",
        "CS:",
        "CR2:",
        "DR0:",
        "DR3:",
        "PKRU:",
        "Code:",
        "ORIG_RAX",
        "EFLAGS",
        "CPU:",
        "Hardware name",
        "Modules",
        "Workqueue:",
        "#PF",
        "PGD",
        "Oops",
        "note: ",
        "---[",
        "===",
        "stack backtrace",
        "Read of size",
        "Write of",
        "Allocated by",
        "Freed by",
        "The buggy",
        "Memory st",
        "page:",
        "raw:",
        "flags:",
        "which belongs",
        "rcu:",
        "(detected",
        "(t=",
        "Sending NMI",
        "NMI backtrace",
        "task:",
        "Task dump",
        "INFO:",
        "Showing all",
        "but task",
        "the existing",
        "other info",
        "Possible",
        "Kernel Offset",
        "Stack:",
        "Last",
        "irq event",
        "hardirqs",
        "softirqs",
        "Tainted",
        "preempt_count",
        "in_atomic",
        "Preemption",
        ">ffff",
        "ffff",
        "BUG:",
        "WARNING:",
        "<",
        "? ",
        "CPU#",
        "Mem-Info",
        "Node ",
    };
    return std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](std::string_view beginning) { return line.starts_with(beginning); });
}

}  // namespace kab
