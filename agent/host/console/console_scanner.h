#pragma once
// Finds out what went wrong from what a kernel prints. Pure, streaming.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/messages.h"

namespace kab {

/// Bytes go in as they come, split anywhere; events come out. What is a fault, and what only looks like
/// one, is listed in console_patterns.cpp. One cause gives one event: what belongs to the report that
/// a first hit opened is not reported again but kept as its context, unless a second lies between. At most
/// `most_events` are kept, the last place for one that is fatal; of a fault that repeats (same kind and signature) only
/// the first. All texts are valid UTF-8, and together at most `most_text` bytes: what is beyond loses its context, then
/// is left out.
class ConsoleScanner {
  public:
    static constexpr std::size_t most_events = 64;
    static constexpr std::size_t most_context_lines = 48;  ///< an oops has 20 of registers before its trace
    static constexpr std::size_t longest_line = 512;       ///< the rest of a line is not looked at
    static constexpr std::size_t most_text = 256U << 10;

    ConsoleScanner();
    ~ConsoleScanner();
    ConsoleScanner(ConsoleScanner&&) noexcept;
    ConsoleScanner& operator=(ConsoleScanner&&) noexcept;

    void push(std::string_view bytes);

    /// The console is complete: gives all events in order. Call once, last.
    std::vector<msg::ConsoleEvent> finish();

    /// Something was seen after which the kernel cannot be trusted to go on (a panic, an oops, a silent
    /// reboot), with the line that tells.
    bool fatal() const;
    const std::string& fatal_line() const;
    /// The first line that tells of a lockup, a stall or a hung task; empty if there was none.
    const std::string& stall_line() const;
    /// The first line that tells of timers or a clock that do not work as they should; empty if there was none.
    const std::string& timer_line() const;
    /// The first line that tells of memory that ran out; empty if there was none.
    const std::string& memory_line() const;
    std::int64_t lines() const;  ///< that have come so far
    /// The last line that is not empty, cleaned of its prefixes.
    std::string last_line() const;
    /// The last line that kab-agent wrote ("kab-agent: ..."); empty if there was none.
    std::string last_agent_line() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace kab
