#include "agent/guest/workloads/checked_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "agent/guest/console.h"

namespace kab::guest {
namespace {

/// The wait status of a child of ours.
Result<int> reap(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return fail_errno(errno, "wait for a child");
    return status;
}

}  // namespace

Result<CheckedChild> CheckedChild::start(std::string name, const std::function<Status()>& work) {
    auto report = Shared<Report>::make();
    if (!report) return pass(report);
    CheckedChild child(std::move(name), std::move(*report));
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "fork of " + child.name_);
    if (pid == 0) {
        const Status done = work();
        if (done) ::_exit(0);
        const auto text = done.error().text();
        text.copy(child.report_->text, longest_error);
        ::_exit(1);
    }
    child.pid_ = pid;
    return child;
}

CheckedChild::CheckedChild(CheckedChild&& other) noexcept
    : name_(std::move(other.name_)), report_(std::move(other.report_)), pid_(std::exchange(other.pid_, -1)) {}

CheckedChild::~CheckedChild() {
    if (pid_ < 0) return;
    if (::kill(pid_, SIGKILL) != 0) say(fail_errno(errno, "kill " + name_).value().text());
    if (const auto reaped = reap(pid_); !reaped) say(name_ + ": " + reaped.error().text());
}

Result<bool> CheckedChild::has_ended() const {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return fail_errno(errno, "waitid for " + name_);
    return info.si_pid != 0;
}

Status CheckedChild::wait() {
    const auto status = reap(std::exchange(pid_, -1));
    if (!status) return fail(Fault::io, "{}: {}", name_, status.error().text());
    if (*status == 0) return {};
    if (report_->text[0] != '\0') return fail(Fault::io, "{}: {}", name_, report_->text);
    return fail(Fault::io, "{} {}", name_, describe_exit(*status));
}

}  // namespace kab::guest
