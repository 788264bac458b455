// Orphans, the end of a namespace, and numbers that are asked for.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "agent/guest/pipe.h"
#include "agent/guest/workloads/pid_check_parts.h"
#include "common/files.h"

namespace kab::guest::pid_check {
namespace {

/// The orphan's exit status where all is well.
constexpr int orphan_status = 7;

/// Waits until its parent is gone (and reaped: then the pipe's end is closed), and looks who is its parent now.
[[noreturn]] void be_an_orphan(Pipe& gone) {
    gone.write.reset();
    char byte = 0;
    const bool told = ::read(gone.read.get(), &byte, 1) == 0;
    ::_exit(told && ::getppid() == 1 ? orphan_status : 1);
}

/// Process 1: its child forks and exits, and its grandchild becomes its own.
Status adopt() {
    auto gone = Pipe::make();
    if (!gone) return pass(gone);
    auto shared = Shared<pid_t>::make();
    if (!shared) return pass(shared);
    pid_t& orphan = *shared->operator->();
    auto parent = CheckedChild::start("the orphan's parent", [&]() -> Status {
        const pid_t pid = ::fork();
        if (pid == 0) be_an_orphan(*gone);
        orphan = pid;  // not by the orphan, whose 0 would be shared as well
        return pid > 0 ? Status{} : fail_errno(errno, "fork of the orphan");
    });
    if (!parent) return pass(parent);
    if (auto ended = parent->wait(); !ended) return ended;
    const pid_t number = orphan;
    gone->write.reset();
    int status = 0;
    const pid_t reaped = ::waitpid(-1, &status, 0);
    if (reaped < 0) return fail_errno(errno, "process 1 waits for an orphan");
    if (auto right = expect("the orphan that process 1 reaps", reaped, number); !right) return right;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != orphan_status)
        return fail(Fault::io, "an orphan does not have process 1 as its parent (wait status {})", status);
    return {};
}

/// How process 1 ends.
enum class End { killed, exits };

/// Process 1: starts the sleepers, each of which says that it is there, and waits for the word to exit.
Status lead(std::int64_t processes, Pipe& alive, Pipe& go) {
    alive.read.reset();
    go.write.reset();
    for (std::int64_t i = 1; i <= processes; ++i) {
        const pid_t pid = ::fork();
        if (pid < 0) return fail_errno(errno, fmt::format("fork of process {} of {}", i, processes));
        if (pid > 0) continue;
        if (!write_all(alive.write.get(), ".")) ::_exit(1);
        for (;;) ::pause();
    }
    char byte = 0;
    if (::read(go.read.get(), &byte, 1) < 0) return fail_errno(errno, "read the word to exit");
    return {};
}

/// The sleepers hold the other end: it is closed when the last of them is gone.
Status expect_all_gone(const Pipe& alive) {
    if (::fcntl(alive.read.get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno(errno, "fcntl");
    char byte = 0;
    const ssize_t got = ::read(alive.read.get(), &byte, 1);
    if (got == 0) return {};
    if (got < 0 && errno == EAGAIN) return fail(Fault::io, "processes outlive process 1 of their PID namespace");
    return fail_errno(got < 0 ? errno : EIO, "read the sleepers' pipe");
}

Status expect_no_fork() {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    if (pid < 0 && errno == ENOMEM) return {};
    if (pid < 0) return fail_errno(errno, "fork into a PID namespace whose process 1 is gone, expected ENOMEM");
    (void)::waitpid(pid, nullptr, 0);
    return fail(Fault::io, "fork into a PID namespace whose process 1 is gone succeeds");
}

Status end_first(End how, std::int64_t processes) {
    auto alive = Pipe::make();
    if (!alive) return pass(alive);
    auto go = Pipe::make();
    if (!go) return pass(go);
    auto first = CheckedChild::start("process 1", [&] { return lead(processes, *alive, *go); });
    if (!first) return pass(first);
    alive->write.reset();
    for (std::int64_t i = 0; i < processes; ++i) {
        char byte = 0;
        if (::read(alive->read.get(), &byte, 1) == 1) continue;
        auto ended = first->wait();
        return ended ? fail(Fault::io, "process 1 ended before its time") : ended;
    }
    if (how == End::exits) {
        go->write.reset();
        if (auto ended = first->wait(); !ended) return ended;
    } else {
        const pid_t pid = first->pid();
        if (::kill(pid, SIGKILL) != 0) return fail_errno(errno, "kill of process 1 from outside");
        if (first->wait()) return fail(Fault::io, "process 1 survives SIGKILL from outside");
    }
    if (auto gone = expect_all_gone(*alive); !gone) return gone;
    return expect_no_fork();
}

// ---- clone3 with set_tid ----

/// struct clone_args of linux/sched.h, which does not go together with sched.h; as long as set_tid needs.
struct CloneArguments {
    std::uint64_t flags = 0, pidfd = 0, child_tid = 0, parent_tid = 0, exit_signal = SIGCHLD, stack = 0, stack_size = 0,
                  tls = 0, set_tid = 0, set_tid_size = 0;
};

/// Which numbers are tried: kernel.pid_max is 4096 where CONFIG_BASE_SMALL is on.
constexpr pid_t first_number = 1000, last_number = 4000;

/// A process with the numbers asked for, that of its own namespace first. It runs `child` and exits with what that
/// returns. Its number, or -1 with errno.
pid_t clone_with(std::initializer_list<pid_t> numbers, const std::function<int()>& child) {
    CloneArguments arguments;
    arguments.set_tid = reinterpret_cast<std::uint64_t>(numbers.begin());
    arguments.set_tid_size = numbers.size();
    const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0) ::_exit(child());
    return static_cast<pid_t>(pid);
}

/// A process that is `inner` here and has a free number above, which it must see of itself.
Status clone_as(pid_t inner) {
    for (pid_t outer = first_number; outer < last_number; ++outer) {
        const pid_t pid = clone_with({inner, outer}, [&] {
            return ::getpid() == inner && expect_numbers("/proc/self/status", "NSpid", {outer, inner}) ? 0 : 1;
        });
        if (pid < 0 && errno == EEXIST) continue;
        if (pid < 0) return fail_errno(errno, fmt::format("clone3 with set_tid {} {}", inner, outer));
        int status = 0;
        if (::waitpid(pid, &status, 0) != pid) return fail_errno(errno, "wait for a process of clone3");
        if (auto right = expect("what clone3 with set_tid returns", pid, inner); !right) return right;
        return expect("the status of a process that clone3 gave its numbers", status, 0);
    }
    return fail(Fault::infra, "no free number from {} to {}", first_number, last_number);
}

Status expect_refusal(std::string_view what, pid_t pid, int wanted) {
    const int error = errno;
    if (pid < 0) return expect(fmt::format("errno of clone3 with {}", what), error, wanted);
    (void)::waitpid(pid, nullptr, 0);
    return fail(Fault::io, "clone3 with {} succeeds", what);
}

/// PROC_PID_INIT_INO of linux/proc_ns.h
constexpr const char* initial_namespace = "pid:[4026531836]";

/// Process 1. `taken` is a number outside.
Status choose_numbers(pid_t taken, bool in_initial_namespace) {
    constexpr pid_t inner = 41;
    const auto nothing = [] { return 0; };
    if (auto good = clone_as(inner); !good) return good;
    if (auto refused = expect_refusal("a number that is taken outside", clone_with({inner, taken}, nothing), EEXIST);
        !refused)
        return refused;
    // The inner number, which was free, must be free again.
    if (auto good = clone_as(inner); !good) return good;
    if (auto refused = expect_refusal("the number of process 1", clone_with({1}, nothing), EEXIST); !refused)
        return refused;
    if (auto refused = expect_refusal("number 0", clone_with({0}, nothing), EINVAL); !refused) return refused;
    if (!in_initial_namespace) return {};
    return expect_refusal("more numbers than levels", clone_with({77, 3077, 3077}, nothing), EINVAL);
}

Status ask_for_numbers() {
    const pid_t own = ::getpid();
    std::error_code error;
    const auto name = fs::read_symlink("/proc/self/ns/pid", error);
    if (error) return fail_errno(error.value(), "read /proc/self/ns/pid");
    // Before process 1 exists: a refusal leaves the namespace as new.
    if (auto refused = expect_refusal("another first number than 1", clone_with({2}, [] { return 0; }), EINVAL);
        !refused)
        return refused;
    if (auto refused =
            expect_refusal("1 inside and a number that is taken", clone_with({1, own}, [] { return 0; }), EEXIST);
        !refused)
        return refused;
    auto first = CheckedChild::start("process 1", [&]() -> Status {
        if (auto one = expect("getpid() after a refused clone3", ::getpid(), 1); !one) return one;
        return choose_numbers(own, name == initial_namespace);
    });
    return first ? first->wait() : pass(first);
}

}  // namespace

Status check_orphans() {
    return outside([]() -> Status {
        auto first = CheckedChild::start("process 1", adopt);
        return first ? first->wait() : pass(first);
    });
}

Status check_set_tid() {
    return outside(ask_for_numbers);
}

Status check_the_end(std::int64_t processes) {
    for (const End how : {End::killed, End::exits})
        if (auto good = outside([=] { return end_first(how, processes); }); !good) return good;
    return {};
}

}  // namespace kab::guest::pid_check
