#pragma once
// What is to be started, and how it ended. Used by child.h (asynchronous) and run.h (synchronous).
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/files.h"

namespace kab {

/// How a process ended: by exit or by a signal, never confused.
struct ExitStatus {
    int code = 0;    ///< of exit(2); meaningless when signal != 0
    int signal = 0;  ///< that ended it; 0 if it exited
    bool ok() const { return code == 0 && signal == 0; }
    bool operator==(const ExitStatus&) const = default;
};

/// "exit code 2", "signal 9 (Killed)".
std::string to_string(const ExitStatus& status);

/// Where one of the child's output streams goes.
struct Output {
    enum class Kind { pipe, inherit, null, descriptor, same_as_stdout };
    Kind kind = Kind::pipe;
    int fd = -1;  ///< Kind::descriptor: stays the caller's; only has to be open while starting

    static Output pipe() { return {Kind::pipe, -1}; }
    static Output inherit() { return {Kind::inherit, -1}; }
    static Output null() { return {Kind::null, -1}; }
    static Output descriptor(int fd) { return {Kind::descriptor, fd}; }
    /// For stderr: the same pipe or file as stdout, in the order written (2>&1).
    static Output same_as_stdout() { return {Kind::same_as_stdout, -1}; }
};

struct ProcessSpec {
    std::string program;                 ///< a path, or a name to be found in PATH
    std::vector<std::string> args = {};  ///< without argv[0]
    /// Set in addition to this process's environment (replacing what is there).
    std::vector<std::pair<std::string, std::string>> environment = {};
    bool clear_environment = false;   ///< start from an empty environment instead
    fs::path working_directory = {};  ///< empty: this process's

    /// Run under kab-supervise: when this process dies (SIGKILL too) or the ChildProcess is destroyed,
    /// the program and all its descendants are killed. Off only for programs that themselves end at
    /// EOF on stdin and supervise what they start (kab-host).
    bool supervised = true;
    /// From a request to terminate until everything left is killed.
    Nanoseconds grace = std::chrono::seconds(5);

    /// Added to this process's nice value for the program. A negative one needs CAP_SYS_NICE; without it
    /// the program runs as it would anyway.
    int nice = 0;

    /// A descriptor (of a lock) that the supervisor keeps open until the program and all its descendants have
    /// ended, this process's death included; -1: none. The program itself does not get it. Supervised only.
    int held = -1;

    enum class Input { null, pipe };
    Input in = Input::null;
    Output out = Output::pipe();
    Output err = Output::pipe();
};

/// The path of `program`: itself if it has a '/', else looked up in PATH.
/// Fault::not_found: "cannot run make: not found in PATH".
Result<fs::path> find_executable(const std::string& program);

}  // namespace kab
