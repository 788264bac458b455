#include "cli/daemon_start.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "cli/daemon_log.h"

namespace kab::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto ready_limit = std::chrono::seconds(60);  // a migration with its backup may take a while
constexpr auto join_limit = std::chrono::seconds(20);
constexpr auto retry_pause = std::chrono::milliseconds(50);
constexpr int most_starts = 3;

struct Pipe {
    UniqueFd read, write;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void become_daemon(const char* program, char* const* arguments, int input, int log, int ready) {
    if (::setsid() < 0) ::_exit(127);
    // The second fork: no session leader, so no terminal can ever become the daemon's.
    const pid_t pid = ::fork();
    if (pid < 0) ::_exit(127);
    if (pid > 0) ::_exit(0);
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD}) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    constexpr int ready_number = 3;
    // `ready` first goes out of the way of 0..3, and everything above 3 is closed.
    const int high = ::fcntl(ready, F_DUPFD, 10);
    const bool arranged = high >= 0 && ::dup2(input, 0) == 0 && ::dup2(log, 1) == 1 && ::dup2(log, 2) == 2 &&
                          ::dup2(high, ready_number) == ready_number;
    if (!arranged || ::close_range(4, ~0U, 0) != 0 || ::chdir("/") != 0) ::_exit(127);
    ::execv(program, arguments);
    ::_exit(127);
}

Status reap(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return fail_errno(errno, "wait for the start of kabd");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(Fault::io, "kabd could not be started: fork failed");
    return {};
}

/// What the daemon says on its readiness pipe; empty when it ended without a word.
Result<std::string> read_line(int fd, Steady::time_point until) {
    std::string line;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now()).count();
        if (left <= 0) return fail(Fault::timeout, "kabd was started but is not ready after {} s", ready_limit.count());
        pollfd wait{fd, POLLIN, 0};
        if (::poll(&wait, 1, static_cast<int>(left)) < 0 && errno != EINTR) return fail_errno(errno, "poll");
        if (wait.revents == 0) continue;
        char buffer[512];
        const auto bytes = ::read(fd, buffer, sizeof buffer);
        if (bytes < 0 && errno != EINTR) return fail_errno(errno, "read from kabd");
        if (bytes == 0) return line;
        if (bytes > 0) line.append(buffer, static_cast<std::size_t>(bytes));
        if (const auto end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
    }
}

/// Fault::conflict when another daemon has the state directory.
Status start_daemon(const Paths& paths) {
    const auto program = find_program("kabd");
    if (!program) return pass(program);
    const DaemonLog said(paths.state / "kabd.log");
    const auto log = open_file(said.path(), O_WRONLY | O_CREAT | O_APPEND);
    if (!log) return pass(log);
    const auto null = open_file("/dev/null", O_RDONLY);
    if (!null) return pass(null);
    auto ready = make_pipe();
    if (!ready) return pass(ready);

    std::vector<std::string> words{"kabd",        "--private",          "--state-dir", paths.state.string(),
                                   "--cache-dir", paths.cache.string(), "--ready-fd",  "3"};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "fork");
    if (pid == 0) become_daemon(program->c_str(), arguments.data(), null->get(), log->get(), ready->write.get());
    ready->write.reset();
    if (auto reaped = reap(pid); !reaped) return reaped;

    const auto line = read_line(ready->read.get(), Steady::now() + ready_limit);
    if (!line) return pass(line);
    if (*line == "ready") return {};
    if (line->starts_with("conflict: ")) return fail(Fault::conflict, "{}", line->substr(10));
    const auto why = line->empty() ? said.last_line() : *line;
    return fail(Fault::infra, "kabd could not start: {} (see {})", why.empty() ? "it ended without a word" : why,
                said.path().string());
}

/// Asks a daemon of another version to make room.
Status replace(const Client& client, const api::Version& other, const Paths& paths) {
    const auto name = fmt::format("kabd {} (pid {}, {})", other.version, other.pid,
                                  other.is_private ? "private" : "not started by kab");
    if (!other.is_private)
        return fail(Fault::conflict, "{} serves {}, this is kab {}: use its version, or another KAB_STATE_DIR", name,
                    paths.state.string(), KAB_VERSION);
    if (auto asked = client.shutdown(); !asked) {
        if (asked.error().fault == Fault::infra) return {};  // just went
        return fail(Fault::conflict, "{} is busy, this is kab {}: wait until it is done, or `kab cancel` what it runs",
                    name, KAB_VERSION);
    }
    const auto until = Steady::now() + join_limit;
    while (Steady::now() < until) {
        if (FileLock::try_take(paths.state / "kabd.lock")) return {};
        std::this_thread::sleep_for(retry_pause);
    }
    return fail(Fault::timeout, "{} was asked to end, and did not", name);
}

/// Nothing when no daemon answers. `started`: it would be one that we have started.
Result<std::optional<api::Version>> present_daemon(const Client& client, const Paths& paths, bool started = false) {
    const auto version = client.version();
    if (!version) {
        if (version.error().fault == Fault::infra) return std::optional<api::Version>();
        return pass(version);
    }
    if (version->version == KAB_VERSION) return std::optional(*version);
    if (started)
        return fail(Fault::infra, "kabd {} was started by kab {}: install both from one version", version->version,
                    KAB_VERSION);
    if (auto replaced = replace(client, *version, paths); !replaced) return pass(replaced);
    return std::optional<api::Version>();
}

}  // namespace

Result<api::Version> ensure_daemon(const Paths& paths) {
    if (auto made = make_directories(paths.state); !made) return pass(made);
    const Client client(paths.socket());
    if (const auto present = present_daemon(client, paths); !present || *present)
        return present ? Result<api::Version>(**present) : pass(present);
    // One kab starts the daemon; the others wait here, and then find it.
    const auto lock = FileLock::take(paths.state / "start.lock");
    if (!lock) return pass(lock);
    const auto until = Steady::now() + join_limit;
    const DaemonLog log(paths.state / "kabd.log");
    for (int starts = 0;;) {
        const auto present = present_daemon(client, paths, starts > 0);
        if (!present) return pass(present);
        if (*present) return **present;
        if (starts == most_starts) {
            const auto why = log.complaint();
            return fail(Fault::infra, "kabd was started {} times and each time went away{}{} (see {})", starts,
                        why.empty() ? "" : ": ", why, log.path().string());
        }
        const auto started = start_daemon(paths);
        if (started) ++starts;
        // A daemon that was started otherwise is coming up, or an old one is still on its way out.
        const bool conflict = !started && started.error().fault == Fault::conflict;
        if (!started && (!conflict || Steady::now() > until)) return pass(started);
        if (conflict) std::this_thread::sleep_for(retry_pause);
    }
}

}  // namespace kab::cli
