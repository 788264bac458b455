#pragma once
// Which lines of a kernel's console mean that something is wrong.
#include <optional>
#include <string>
#include <string_view>

namespace kab {

enum class ConsoleKind {
    none,
    panic,
    oops,
    bug,
    warning,
    lockup,
    hung_task,
    rcu_stall,
    lockdep,
    sanitizer,
    oom,
    boot,
    timer
};

/// "panic", "hung-task", ... `timer` is no fault of the kernel, but tells that time is not kept as planned.
const char* to_string(ConsoleKind kind);

struct ConsoleMatch {
    ConsoleKind kind = ConsoleKind::none;
    const char* severity = "";     ///< "fatal", "error", "warning"
    std::string_view description;  ///< the line from where the signature begins
    bool innocent = false;         ///< begins a report that looks like a fault's and is none
    explicit operator bool() const { return kind != ConsoleKind::none || innocent; }
};

/// What a line means that has been stripped of its prefixes.
ConsoleMatch match_console_line(std::string_view line);

/// The line without "<N>", "[ 1.234567]", "[ T123]" or "[ C0]", "\r" and blanks at its end. Leading blanks
/// of the text itself are kept.
std::string_view strip_console_prefix(std::string_view line);

/// The seconds of "[    1.234567]" at its beginning; nullopt where there is none.
std::optional<double> console_time(std::string_view line);

/// A line that belongs to the report of a fault (a register dump, a call trace, a heading).
bool is_report_line(std::string_view line);

/// Numbers, addresses, hashes and offsets replaced, so that the same fault looks the same in every boot.
std::string normalise_signature(std::string_view description);

}  // namespace kab
