// kab-supervise: runs a command such that nothing of it outlives whoever started it.
//
//   kab-supervise [--lifeline FD] [--grace MS] -- COMMAND ARGS...
//
// The lifeline (stdin unless told otherwise) is a pipe whose other end the parent holds and never
// writes to. At its EOF, however the parent came to die, everything is killed. On SIGTERM the command's
// group gets SIGTERM, and SIGKILL after the grace. When the command ends, its remaining descendants are
// killed, daemons too (this process is their subreaper), and its exit status or signal becomes ours.
// A command whose supervisor is killed dies with it (PR_SET_PDEATHSIG).
#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

constexpr int exit_usage = 2;
constexpr int exit_internal = 125;
constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;

struct Arguments {
    int lifeline = STDIN_FILENO;
    long grace_ms = 5000;
    char** command = nullptr;
};

[[noreturn]] void die(int code, const std::string& message) {
    std::fprintf(stderr, "kab-supervise: %s\n", message.c_str());
    std::exit(code);
}

[[noreturn]] void die_errno(const char* action) {
    die(exit_internal, std::string(action) + ": " + std::strerror(errno));
}

long parse_number(const char* option, const char* text) {
    char* end = nullptr;
    errno = 0;
    const long value = text == nullptr ? -1 : std::strtol(text, &end, 10);
    if (text == nullptr || errno != 0 || end == text || *end != '\0' || value < 0 || value > INT_MAX) {
        die(exit_usage, std::string(option) + " wants a number that is not negative");
    }
    return value;
}

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--lifeline") {
            arguments.lifeline = static_cast<int>(parse_number("--lifeline", argv[++i]));
        } else if (word == "--grace") {
            arguments.grace_ms = parse_number("--grace", argv[++i]);
        } else if (word == "--" && i + 1 < argc) {
            arguments.command = argv + i + 1;
            return arguments;
        } else {
            break;
        }
    }
    die(exit_usage, "usage: kab-supervise [--lifeline FD] [--grace MS] -- COMMAND ARGS...");
}

long long now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/// In the child: never returns.
[[noreturn]] void exec_command(const Arguments& arguments, pid_t supervisor, const sigset_t& no_signals) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(exit_internal);  // it died before prctl
    if (arguments.lifeline == STDIN_FILENO) {
        const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (null < 0 || dup2(null, STDIN_FILENO) < 0) _exit(exit_internal);
    }
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // a lock that was given to us to hold is not the command's
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &no_signals, nullptr);
    // execvp would have /bin/sh interpret a file that is no program.
    if (std::strchr(arguments.command[0], '/') != nullptr) {
        execv(arguments.command[0], arguments.command);
    } else {
        execvp(arguments.command[0], arguments.command);
    }
    const int error = errno;
    const std::string reason = error == ENOENT ? "No such file" : std::strerror(error);
    const std::string message = std::string("kab-supervise: cannot run ") + arguments.command[0] + ": " + reason + "\n";
    if (write(STDERR_FILENO, message.data(), message.size()) < 0) _exit(exit_internal);
    _exit(error == ENOENT ? exit_not_found : exit_not_executable);
}

/// The parent of a process by /proc/PID/stat; -1 when it is gone. The name in it may hold anything.
pid_t parent_of(const char* pid) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    char text[512];
    const ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0) return -1;
    text[got] = '\0';
    const char* after_name = std::strrchr(text, ')');
    int parent = -1;
    if (after_name == nullptr || std::sscanf(after_name + 1, " %*c %d", &parent) != 1) return -1;
    return parent;
}

/// SIGKILL for every child of this process. Grandchildren become children as their parents die.
void kill_children() {
    DIR* proc = opendir("/proc");
    if (proc == nullptr) return;  // without /proc only the group can be killed; that was done
    const pid_t self = getpid();
    while (const dirent* entry = readdir(proc)) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (parent_of(entry->d_name) == self) kill(std::atoi(entry->d_name), SIGKILL);
    }
    closedir(proc);
}

/// Kills the group, then whatever is left, and reaps until there are no children.
/// Stores the command's status when it is among the reaped.
void kill_everything(pid_t command, bool& command_reaped, int& status) {
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    kill(-command, SIGKILL);
    if (!command_reaped) kill(command, SIGKILL);  // before its setsid it had no group of its own
    for (;;) {
        int child_status = 0;
        const pid_t reaped = waitpid(-1, &child_status, WNOHANG);
        if (reaped == command) {
            command_reaped = true;
            status = child_status;
        }
        if (reaped > 0 || (reaped < 0 && errno == EINTR)) continue;
        if (reaped < 0) return;  // ECHILD: nobody is left
        kill_children();
        // A reading of /proc can miss what is being forked: look again soon, and at once when one has died.
        const timespec soon{0, 20'000'000};
        sigtimedwait(&child_signal, nullptr, &soon);
    }
}

/// Ends as the command ended.
[[noreturn]] void finish(int status) {
    if (WIFEXITED(status)) std::exit(WEXITSTATUS(status));
    const int number = WTERMSIG(status);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    std::exit(128 + number);  // a signal that does not kill by default
}

/// Reaps what has died; true once the command is among them.
bool reap(pid_t command, int& status) {
    bool command_ended = false;
    for (;;) {
        int child_status = 0;
        const pid_t reaped = waitpid(-1, &child_status, WNOHANG);
        if (reaped <= 0) return command_ended;
        if (reaped == command) {
            command_ended = true;
            status = child_status;
        }
    }
}

/// Waits for the command's end, the lifeline's end, or a request to end. Returns true if the command has been reaped.
bool watch(const Arguments& arguments, pid_t command, int signals, int& status) {
    long long deadline = -1;
    pollfd waits[] = {{signals, POLLIN, 0}, {arguments.lifeline, POLLIN, 0}};
    for (;;) {
        const int timeout = deadline < 0 ? -1 : static_cast<int>(std::max(0LL, deadline - now_ms()));
        const int ready = poll(waits, 2, timeout);
        if (ready < 0 && errno != EINTR) die_errno("poll");
        if (ready == 0) return false;  // the grace is over
        signalfd_siginfo info{};
        if (ready > 0 && (waits[0].revents & POLLIN) != 0 && read(signals, &info, sizeof info) == sizeof info) {
            if (reap(command, status)) return true;
            if (info.ssi_signo != SIGCHLD && deadline < 0) {
                deadline = now_ms() + arguments.grace_ms;
                if (kill(-command, SIGTERM) < 0) kill(command, SIGTERM);  // before its setsid it has no group
                kill(-command, SIGCONT);                                  // a stopped process would not see it
            }
        }
        if (ready > 0 && waits[1].revents != 0) {
            char ignored[256];
            const ssize_t got = read(arguments.lifeline, ignored, sizeof ignored);
            if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments arguments = parse(argc, argv);
    if (fcntl(arguments.lifeline, F_SETFD, FD_CLOEXEC) < 0) die_errno("lifeline");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) die_errno("prctl(PR_SET_CHILD_SUBREAPER)");

    sigset_t watched;
    sigset_t no_signals;
    sigemptyset(&no_signals);
    sigemptyset(&watched);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&watched, number);
    if (sigprocmask(SIG_SETMASK, &watched, nullptr) < 0) die_errno("sigprocmask");
    const int signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) die_errno("signalfd");
    signal(SIGPIPE, SIG_IGN);

    const pid_t self = getpid();
    const pid_t command = fork();
    if (command < 0) die_errno("fork");
    if (command == 0) exec_command(arguments, self, no_signals);

    int status = 0;
    bool reaped = watch(arguments, command, signals, status);
    kill_everything(command, reaped, status);
    finish(status);
}
