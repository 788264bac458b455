#include "agent/guest/workloads/bench_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "agent/guest/console.h"
#include "agent/guest/shared_memory.h"

namespace kab::guest {
namespace {

constexpr std::size_t longest_error = 1000;

struct Report {
    WorkTimes times;
    Fault fault = Fault::io;
    char error[longest_error + 1]{};
};

/// Two pipes: the worker says that it is ready and that it is done, the parent says go. Whoever dies closes its ends.
struct Talk {
    UniqueFd hear_worker, to_parent, hear_parent, to_worker;

    static Result<Talk> make() {
        int up[2], down[2];
        if (::pipe2(up, O_CLOEXEC) != 0) return fail_errno(errno, "pipe of the worker");
        UniqueFd up_read(up[0]), up_write(up[1]);
        if (::pipe2(down, O_CLOEXEC) != 0) return fail_errno(errno, "pipe of the worker");
        return Talk{std::move(up_read), std::move(up_write), UniqueFd(down[0]), UniqueFd(down[1])};
    }
};

Status say_byte(int fd) {
    return write_all(fd, ".");
}

/// False when the other side is gone.
Result<bool> hear_byte(int fd) {
    char byte = 0;
    ssize_t got = 0;
    do {
        got = ::read(fd, &byte, 1);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return fail_errno(errno, "read of the worker's pipe");
    return got == 1;
}

Status work_through(const Work& work, Report& report, const Talk& talk) {
    if (auto ready = work.get_ready(); !ready) return ready;
    if (auto said = say_byte(talk.to_parent.get()); !said) return said;
    const auto go = hear_byte(talk.hear_parent.get());
    if (!go) return pass(go);
    if (!*go) return fail(Fault::io, "the agent went away before the worker began");
    auto times = work.work();
    if (!times) return pass(times);
    report.times = *times;
    if (auto said = say_byte(talk.to_parent.get()); !said) return said;
    return work.clean_up();
}

void note(Report& report, const Error& error) {
    const auto text = error.text();
    std::memcpy(report.error, text.data(), std::min(text.size(), longest_error));
    report.fault = error.fault;
}

/// With its parent the worker goes too, and with a worker that is process 1 all in its namespace.
int worker_main(const Work& work, Report& report, Talk& talk) {
    Status done;
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) done = fail_errno(errno, "prctl(PR_SET_PDEATHSIG)");
    talk.to_worker.reset();
    talk.hear_worker.reset();
    if (done) done = work_through(work, report, talk);
    if (done) return 0;
    note(report, done.error());
    return 1;
}

Status make_namespace() {
    if (::unshare(CLONE_NEWPID) == 0) return {};
    if (errno == EINVAL)
        return fail(Fault::usage, "'nested: 1' needs PID namespaces, which this kernel lacks (CONFIG_PID_NS)");
    return fail_errno(errno, "unshare(CLONE_NEWPID)");
}

/// The process between the agent and a nested worker: its children, not it, are in the new namespace.
int ancestor_main(const Work& work, Report& report, Talk& talk) {
    Status done;
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) done = fail_errno(errno, "prctl(PR_SET_PDEATHSIG)");
    if (done) done = make_namespace();
    if (done) {
        const auto worker = fork_child("the nested worker", [&] { return worker_main(work, report, talk); });
        talk = Talk{};
        done = worker ? reap(*worker, "the nested worker") : pass(worker);
    }
    if (done) return 0;
    if (report.error[0] == '\0') note(report, done.error());
    return 1;
}

/// From the worker's readiness until it has done its work. False when it went away, which its end explains.
Result<bool> time_worker(Talk& talk, Meter& meter) {
    const auto ready = hear_byte(talk.hear_worker.get());
    if (!ready || !*ready) return ready;
    if (auto started = meter.start(); !started) return pass(started);
    if (auto said = say_byte(talk.to_worker.get()); !said) return pass(said);
    const auto done = hear_byte(talk.hear_worker.get());
    if (auto stopped = meter.stop(); !stopped) return pass(stopped);
    return done;
}

}  // namespace

Result<pid_t> fork_child(const char* what, const std::function<int()>& child) {
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, fmt::format("fork of {}", what));
    if (pid == 0) ::_exit(child());
    return pid;
}

Status reap(pid_t child, const std::string& what) {
    int status = 0;
    pid_t reaped = 0;
    do {
        reaped = ::waitpid(child, &status, 0);
    } while (reaped < 0 && errno == EINTR);
    if (reaped < 0) return fail_errno(errno, fmt::format("wait for {}", what));
    if (status != 0) return fail(Fault::io, "{} {}", what, describe_exit(status));
    return {};
}

Result<WorkTimes> run_in_worker(const Work& work, bool nested, Meter& meter) {
    auto report = Shared<Report>::make();
    if (!report) return pass(report);
    auto talk = Talk::make();
    if (!talk) return pass(talk);
    Report& told = *report->operator->();
    const auto child = fork_child(
        "the worker", [&] { return nested ? ancestor_main(work, told, *talk) : worker_main(work, told, *talk); });
    if (!child) return pass(child);
    talk->to_parent.reset();
    talk->hear_parent.reset();
    const auto timed = time_worker(*talk, meter);
    talk->to_worker.reset();
    const auto ended = reap(*child, "the worker");
    if (!timed) return pass(timed);
    if (told.error[0] != '\0') return fail(told.fault, "{}", told.error);
    if (!ended) return pass(ended);
    if (!*timed) return fail(Fault::internal, "the worker ended well without having worked");
    return told.times;
}

}  // namespace kab::guest
