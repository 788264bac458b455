#pragma once
// A program run to its end by synchronous code.
//
//   ProcessSpec make{.program = "make", .args = {"-j2", "vmlinux"}, .working_directory = tree};
//   make.err = Output::same_as_stdout();
//   Result<RunOutput> done = run_process(make, {.limit = std::chrono::minutes(30), .on_stdout_line = show});
//   if (!done) ...                 // could not be started, or the limit passed
//   if (!done->status.ok()) ...    // it ran and failed
//
// Uses an event loop of its own; call it from a thread that may block. The program runs under
// kab-supervise (unless spec.supervised is false), so nothing of it is left when this returns or dies.
#include <functional>
#include <string>
#include <string_view>

#include "common/process/spec.h"

namespace kab {

using LineHandler = std::function<void(std::string_view line)>;

struct RunOptions {
    Nanoseconds limit{0};                  ///< of the whole run; 0: none
    std::size_t capture_bytes = 4U << 20;  ///< kept of each stream: the first and the last half of this
    std::string input = {};                ///< written to stdin, then closed, if spec.in is pipe
    /// Called for each line without its '\n' as it comes (only streams whose Output is pipe). Lines longer
    /// than 64 KiB come in pieces.
    LineHandler on_stdout_line = {};
    LineHandler on_stderr_line = {};
};

struct RunOutput {
    ExitStatus status;
    std::string out, err;    ///< captured; a cut is marked by a line "[... N bytes left out ...]"
    bool truncated = false;  ///< something was left out
    Nanoseconds elapsed{0};
    Nanoseconds cpu{0};  ///< user + system time of the program and all descendants that were waited for
};

/// Fault::not_found if there is no such program, Fault::timeout after `limit` (everything killed),
/// Fault::io or infra when a system call failed. An exit code other than 0 is not an error here.
Result<RunOutput> run_process(const ProcessSpec& spec, const RunOptions& options = {});

/// run_process, and Fault::infra with the last line of stderr (or stdout) if it does not exit with 0:
/// "git rev-parse: exit code 128: fatal: not a git repository".
Result<RunOutput> run_checked(const ProcessSpec& spec, const RunOptions& options = {});

}  // namespace kab
