#include "agent/host/console/console_scanner.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "agent/host/console/console_patterns.h"
#include "agent/host/console/printable.h"

namespace kab {
namespace {

constexpr std::size_t lines_before = 3;
constexpr int ordinary_lines_end_report = 3;   ///< in a row
constexpr double pause_ends_report = 1;        ///< seconds without a line, for the next finding
constexpr int longest_report = 200;            ///< lines
constexpr int longest_oom_report = 500;        ///< it lists all tasks
constexpr int consequence_lines = 100;         ///< from a fault to the panic that it causes
constexpr double consequence_pause = 12;       ///< seconds; CPUs that are asked for a trace are waited for 10
constexpr std::size_t fatal_text = 32U << 10;  ///< of most_text, kept free for what is fatal

/// Reasons of a panic that name something already reported.
constexpr std::string_view consequences[] = {
    "Fatal exception", "panic_on_warn set", "hung_task: blocked tasks", "softlockup:", "Hard LOCKUP",     "hard LOCKUP",
    "RCU Stall",       "panic_on_oops",     "scheduling while atomic",  "KFENCE",      "kernel: panic_on"};

bool is_consequence(std::string_view line) {
    return std::any_of(std::begin(consequences), std::end(consequences),
                       [&](std::string_view reason) { return line.find(reason) != std::string_view::npos; });
}

/// Init's death may have any cause: only what ends tasks is taken for one.
bool is_death_of_init(std::string_view line) {
    return line.find("Attempted to kill") != std::string_view::npos;
}

bool ends_tasks(ConsoleKind kind) {
    return kind == ConsoleKind::oops || kind == ConsoleKind::bug || kind == ConsoleKind::oom;
}

/// "func" from "RIP: 0010:func+0x12/0x340 [module]".
std::string_view function_of(std::string_view line) {
    if (!line.starts_with("RIP: ")) return {};
    const auto colon = line.find(':', 5);
    const auto plus = line.find("+0x");
    if (colon == std::string_view::npos || plus == std::string_view::npos || plus <= colon + 1) return {};
    return line.substr(colon + 1, plus - colon - 1);
}

}  // namespace

struct ConsoleScanner::State {
    struct Report {
        msg::ConsoleEvent event;
        ConsoleKind kind = ConsoleKind::none;
        bool innocent = false;
        bool ends_tasks = false;  ///< it, or a hit within it
        std::size_t context_lines = 0;
        int lines = 0, ordinary = 0;
        std::string function;        ///< where it happened, if the report tells
        std::optional<double> time;  ///< seconds at which its last line was printed
    };

    void take_bytes(std::string_view bytes);
    void take_line(std::string_view raw);
    void judge(std::string_view line);
    bool watch_banners(std::string_view line);
    void open(const ConsoleMatch& match, std::string_view line);
    void absorb(const ConsoleMatch& match, std::string_view line);
    void go_on(std::string_view line);
    void close();
    void keep(msg::ConsoleEvent event);
    void note_fatal(std::string_view line);
    void note_memory(const ConsoleMatch& match, std::string_view line);
    void note_stall(const ConsoleMatch& match, std::string_view line);

    /// A panic that only says what the last finding came to.
    bool follows_from_last(const ConsoleMatch& match, std::string_view line) const;
    /// The report under way ended long before this line.
    bool pause_before_line() const;

    std::string partial;
    std::optional<double> time;  ///< of the present line
    std::int64_t line_number = 0;
    std::deque<std::string> before;
    std::optional<Report> report;
    std::vector<msg::ConsoleEvent> events;
    std::size_t kept = 0;                     ///< bytes of text in them
    std::map<std::string, std::size_t> seen;  ///< kind and signature of events
    std::optional<std::size_t> last;          ///< index of the last event, if it was kept
    int since_last = 0;                       ///< lines since that report ended
    std::optional<double> last_time;          ///< of that report's last line
    bool last_ends_tasks = false;
    std::string banner;  ///< the first "Linux version" line
    bool in_backtrace_test = false;
    std::int64_t cut_line = 0;  ///< of "cut here" with no finding yet; 0: none
    std::string cut_text;       ///< the first line after it
    std::string fatal_line, stall_line, timer_line, memory_line, last_line, last_agent_line;
};

void ConsoleScanner::State::take_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto end = bytes.find('\n');
        const auto piece = bytes.substr(0, end);
        if (end != std::string_view::npos && partial.empty()) {
            take_line(piece.substr(0, longest_line));
        } else {
            if (partial.size() < longest_line) partial.append(piece.substr(0, longest_line - partial.size()));
            if (end != std::string_view::npos) {
                take_line(partial);
                partial.clear();
            }
        }
        if (end == std::string_view::npos) return;
        bytes.remove_prefix(end + 1);
    }
}

void ConsoleScanner::State::take_line(std::string_view raw) {
    ++line_number;
    ++since_last;
    time = console_time(raw);
    const auto line = strip_console_prefix(raw);
    if (!line.empty()) last_line = line;
    if (line.starts_with("kab-agent: ")) last_agent_line = line;
    judge(line);
    if (before.size() == lines_before) before.pop_front();
    before.emplace_back(line);
}

void ConsoleScanner::State::judge(std::string_view line) {
    // Nothing that goes on can make a panic mean nothing.
    const bool dies = line.starts_with("Kernel panic - not syncing");
    if (dies) in_backtrace_test = false;
    if (line.find("backtrace testing ]") != std::string_view::npos) {
        in_backtrace_test = line.find("end of") == std::string_view::npos;
    }
    if (in_backtrace_test || watch_banners(line)) return;
    if (line.starts_with("------------[ cut here ]")) {
        close();
        cut_line = line_number;
        cut_text.clear();
        return;
    }
    if (cut_line != 0 && cut_text.empty()) cut_text = line;
    const ConsoleMatch match = match_console_line(line);
    if (match.kind == ConsoleKind::timer) {
        if (timer_line.empty()) timer_line = printable(line);
    } else if (match) {
        cut_line = 0;
        if (report && pause_before_line()) close();
        if (report) {
            absorb(match, line);
        } else {
            open(match, line);
        }
        return;
    }
    if (cut_line != 0 && line.starts_with("---[ end trace")) {
        open({ConsoleKind::warning, "warning", cut_text, false}, cut_text);
        cut_line = 0;
    }
    if (report) go_on(line);
}

bool ConsoleScanner::State::pause_before_line() const {
    // Nothing that comes after a panic is a finding of its own.
    return report->kind != ConsoleKind::panic && time && report->time && *time - *report->time > pause_ends_report;
}

/// True when the line is a banner and was dealt with.
bool ConsoleScanner::State::watch_banners(std::string_view line) {
    const bool firmware =
        line.starts_with("SeaBIOS (version") || line.starts_with("iPXE (") || line.starts_with("qboot");
    const bool kernel = line.starts_with("Linux version ");
    if (!firmware && !kernel) return false;
    if (banner.empty() || line == banner) {
        if (kernel) banner = line;
        return true;
    }
    close();
    const ConsoleMatch match{ConsoleKind::boot, "fatal", "silent reboot", false};
    open(match, line);
    note_fatal("silent reboot: a second banner: " + std::string(line));
    close();
    return true;
}

void ConsoleScanner::State::note_fatal(std::string_view line) {
    if (fatal_line.empty()) fatal_line = printable(line);
}

/// A report of memory that ran out begins with who wanted some; who was killed tells more.
void ConsoleScanner::State::note_memory(const ConsoleMatch& match, std::string_view line) {
    if (match.kind != ConsoleKind::oom) return;
    const bool killed = line.find("Killed process") != std::string_view::npos;
    if (memory_line.empty() || (killed && memory_line.find("Killed process") == std::string::npos)) {
        memory_line = printable(line);
    }
}

void ConsoleScanner::State::note_stall(const ConsoleMatch& match, std::string_view line) {
    const bool stalled = match.kind == ConsoleKind::lockup || match.kind == ConsoleKind::hung_task ||
                         match.kind == ConsoleKind::rcu_stall;
    if (stalled && stall_line.empty()) stall_line = printable(line);
}

bool ConsoleScanner::State::follows_from_last(const ConsoleMatch& match, std::string_view line) const {
    if (match.kind != ConsoleKind::panic || !last || since_last > consequence_lines) return false;
    if (time && last_time && *time - *last_time > consequence_pause) return false;
    return is_consequence(line) || (is_death_of_init(line) && last_ends_tasks);
}

void ConsoleScanner::State::open(const ConsoleMatch& match, std::string_view line) {
    if (follows_from_last(match, line)) {
        // One cause, one label: the panic is what the last finding came to.
        auto& cause = events[*last];
        cause.severity = "fatal";
        const std::string text = "\n" + printable(line);
        if (kept + text.size() <= most_text) {
            cause.text += text;
            kept += text.size();
        }
        note_fatal(cause.text.substr(0, cause.text.find('\n')));
        return;
    }
    Report opened;
    opened.kind = match.kind;
    opened.innocent = match.innocent;
    opened.ends_tasks = ends_tasks(match.kind);
    opened.event.kind = to_string(match.kind);
    opened.event.severity = match.severity;
    opened.event.signature = printable(normalise_signature(match.description));
    opened.event.text = printable(line);
    opened.event.line = line_number;
    opened.time = time;
    for (const auto& earlier : before) {
        if (!earlier.empty()) opened.event.text += "\n(before) " + printable(earlier);
    }
    note_stall(match, line);
    note_memory(match, line);
    if (opened.event.severity == "fatal" && !match.innocent) note_fatal(line);
    report = std::move(opened);
}

/// A hit within an open report: another word for the same cause, or (out of memory, innocence, an init that dies of
/// something else) one of its own.
void ConsoleScanner::State::absorb(const ConsoleMatch& match, std::string_view line) {
    const bool fatal = std::string_view(match.severity) == "fatal";
    const bool out_of_memory = report->kind == ConsoleKind::oom && match.kind != ConsoleKind::oom && !match.innocent;
    const bool death = match.kind == ConsoleKind::panic && is_death_of_init(line) && !report->ends_tasks;
    // Nothing that goes on can make what is fatal mean nothing.
    if (out_of_memory || death || (report->innocent && fatal)) {
        close();
        return open(match, line);
    }
    note_memory(match, line);
    note_stall(match, line);
    report->ends_tasks = report->ends_tasks || ends_tasks(match.kind);
    if (fatal && report->event.severity != "fatal") {
        report->event.severity = "fatal";
        note_fatal(report->event.text.substr(0, report->event.text.find('\n')));
    }
    go_on(line);
}

void ConsoleScanner::State::go_on(std::string_view line) {
    const bool dead = report->kind == ConsoleKind::panic;
    if (time) report->time = time;
    ++report->lines;
    report->ordinary = is_report_line(line) || match_console_line(line) ? 0 : report->ordinary + 1;
    if (report->context_lines < most_context_lines && !line.empty()) {
        ++report->context_lines;
        report->event.text += "\n" + printable(line);
    }
    if (report->function.empty()) report->function = function_of(line);
    const bool marked = line.starts_with("---[ end trace") || line.starts_with("---[ end Kernel panic");
    const bool oom = report->kind == ConsoleKind::oom;
    const bool faded = !oom && !dead && report->ordinary >= ordinary_lines_end_report;
    if (marked || faded || report->lines >= (oom ? longest_oom_report : longest_report)) close();
}

void ConsoleScanner::State::close() {
    if (!report) return;
    Report done = std::move(*report);
    report.reset();
    if (done.innocent) return;
    since_last = 0;
    last_time = done.time;
    last_ends_tasks = done.ends_tasks;
    const bool located = done.kind == ConsoleKind::oops || done.kind == ConsoleKind::bug ||
                         done.kind == ConsoleKind::lockup || done.kind == ConsoleKind::sanitizer;
    if (located && !done.function.empty() && done.event.signature.find(done.function) == std::string::npos) {
        done.event.signature += " in " + done.function;
    }
    keep(std::move(done.event));
}

/// Sets `last` to where the event is, be it told again; to nothing if there is no room for it.
void ConsoleScanner::State::keep(msg::ConsoleEvent event) {
    const std::string label = event.kind + ": " + event.signature;
    const bool fatal = event.severity == "fatal";
    last.reset();
    if (const auto told = seen.find(label); told != seen.end()) {
        last = told->second;
        if (fatal) events[*last].severity = event.severity;
        return;
    }
    const std::size_t places = fatal ? most_events : most_events - 1;
    const std::size_t limit = fatal ? most_text : most_text - fatal_text;
    if (events.size() >= places || kept + event.signature.size() + longest_line > limit) return;
    event.text = cut_to(event.text, limit - kept - event.signature.size());
    kept += event.text.size() + event.signature.size();
    last = events.size();
    seen.emplace(label, events.size());
    events.push_back(std::move(event));
}

ConsoleScanner::ConsoleScanner() : state_(std::make_unique<State>()) {}
ConsoleScanner::~ConsoleScanner() = default;
ConsoleScanner::ConsoleScanner(ConsoleScanner&&) noexcept = default;
ConsoleScanner& ConsoleScanner::operator=(ConsoleScanner&&) noexcept = default;

void ConsoleScanner::push(std::string_view bytes) {
    state_->take_bytes(bytes);
}

std::vector<msg::ConsoleEvent> ConsoleScanner::finish() {
    if (!state_->partial.empty()) state_->take_line(std::exchange(state_->partial, {}));
    state_->close();
    return std::move(state_->events);
}

bool ConsoleScanner::fatal() const {
    return !state_->fatal_line.empty();
}
const std::string& ConsoleScanner::fatal_line() const {
    return state_->fatal_line;
}
const std::string& ConsoleScanner::stall_line() const {
    return state_->stall_line;
}
const std::string& ConsoleScanner::timer_line() const {
    return state_->timer_line;
}
const std::string& ConsoleScanner::memory_line() const {
    return state_->memory_line;
}
std::int64_t ConsoleScanner::lines() const {
    return state_->line_number;
}
std::string ConsoleScanner::last_line() const {
    return printable(state_->last_line);
}
std::string ConsoleScanner::last_agent_line() const {
    return printable(state_->last_agent_line);
}

}  // namespace kab
