#include "common/process/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/optional.hpp>  // process/v2 of 1.81 forgets it when told to use std::filesystem
#include <boost/process/v2/process.hpp>

#include "common/process/spawn.h"

namespace kab {

namespace asio = boost::asio;

namespace {

using Handle = boost::process::v2::basic_process_handle<asio::any_io_executor>;
/// A pidfd, readable once the process has exited. Not the handle's own async_wait, which blocks the loop in waitpid if
/// the event was another's: reaping a process wakes its pidfd once more (from Linux 6.9 on), and Asio gives an event
/// that is under way to whatever has taken the place of the closed descriptor meanwhile.
using ExitEvent = asio::posix::stream_descriptor;
using ErrorCode = boost::system::error_code;

constexpr int reap_limit_ms = 10000;
constexpr auto slack = std::chrono::seconds(2);  ///< for the supervisor beyond its own grace

ExitStatus from_native(int status) {
    if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
    return {WEXITSTATUS(status), 0};
}

}  // namespace

struct ChildProcess::State {
    State(const asio::any_io_executor& loop, Spawned spawned, int pidfd, const ProcessSpec& spec)
        : pid(spawned.pid),
          supervised(spec.supervised),
          grace(spec.grace),
          lifeline(std::move(spawned.lifeline)),
          exited(std::in_place, loop, pidfd),
          handle(std::in_place, loop, pid),
          executor(loop),
          timer(loop) {
        if (spawned.in) in.emplace(loop, spawned.in.release());
        if (spawned.out) out.emplace(loop, spawned.out.release());
        if (spawned.err) err.emplace(loop, spawned.err.release());
    }

    bool running() const { return !status && !lost; }
    /// The group, or where that is not (yet) there the process: only while it has not been reaped.
    void send(int number) const {
        if (!running()) return;
        if (supervised || ::kill(-pid, number) < 0) ::kill(pid, number);
    }
    void kill() {
        if (!running()) return;
        // A supervisor must live to kill the rest: it does so at the end of its lifeline.
        if (supervised && lifeline) lifeline.reset();
        if (!supervised) send(SIGKILL);
    }

    /// Calls `waiting` when the process has ended, never before it returns.
    void wait(const std::shared_ptr<State>& self) {
        int native = 0;
        ErrorCode failed;
        if (handle->running(native, failed) || failed == boost::system::errc::interrupted) {
            exited->async_wait(asio::posix::descriptor_base::wait_read, [self](ErrorCode error) {
                if (!self->running()) return;  // destroyed meanwhile
                if (error) {
                    self->lost = true;
                    return self->told(error.message());
                }
                self->wait(self);  // ready or not: ask the process
            });
            return;
        }
        if (!failed) status = from_native(native);  // from here on the pid means nothing
        lost = !status;
        asio::post(executor, [self, failed] { self->told(failed.message()); });
    }
    void told(const std::string& why) {
        timer.cancel();
        auto call = std::exchange(waiting, nullptr);
        if (!call) return;
        if (status) return call(*status);
        call(fail(Fault::io, "wait for process {}: {}", pid, why));
    }

    const pid_t pid;
    const bool supervised;
    const Nanoseconds grace;
    UniqueFd lifeline;
    std::optional<ExitEvent> exited;
    std::optional<Handle> handle;
    asio::any_io_executor executor;
    asio::steady_timer timer;
    std::optional<Pipe> in, out, err;
    std::optional<ExitStatus> status;
    bool lost = false;  ///< waiting failed: the pid means nothing any more
    ExitHandler waiting;
};

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const asio::any_io_executor& executor,
                                                          const ProcessSpec& spec) {
    auto spawned = spawn(spec);
    if (!spawned) return pass(spawned);
    const pid_t pid = spawned->pid;
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    const int error = errno;
    try {
        if (pidfd >= 0) {
            auto state = std::make_shared<State>(executor, std::move(*spawned), pidfd, spec);
            return std::unique_ptr<ChildProcess>(new ChildProcess(std::move(state)));
        }
    } catch (const std::exception& e) {
        ::kill(-pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        return fail(Fault::io, "watch {}: {}", spec.program, e.what());
    }
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail_errno(error, "pidfd_open for " + spec.program);
}

ChildProcess::~ChildProcess() {
    State& state = *state_;
    state.waiting = nullptr;
    ErrorCode ignored;
    state.timer.cancel();
    for (auto* pipe : {&state.in, &state.out, &state.err}) {
        if (*pipe) (*pipe)->close(ignored);
    }
    if (!state.running()) return;
    state.kill();
    pollfd wait{static_cast<int>(::syscall(SYS_pidfd_open, state.pid, 0)), POLLIN, 0};
    if (wait.fd >= 0) {
        if (::poll(&wait, 1, reap_limit_ms) == 0) ::kill(-state.pid, SIGKILL);
        ::close(wait.fd);
    }
    while (::waitpid(state.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    state.lost = true;
    state.exited.reset();  // cancels a wait under way
}

int ChildProcess::pid() const {
    return state_->pid;
}

ChildProcess::Pipe* ChildProcess::in() {
    return state_->in ? &*state_->in : nullptr;
}
ChildProcess::Pipe* ChildProcess::out() {
    return state_->out ? &*state_->out : nullptr;
}
ChildProcess::Pipe* ChildProcess::err() {
    return state_->err ? &*state_->err : nullptr;
}

void ChildProcess::close_stdin() {
    if (!state_->in) return;
    ErrorCode ignored;
    state_->in->close(ignored);
    state_->in.reset();
}

void ChildProcess::async_wait(ExitHandler handler) {
    state_->waiting = std::move(handler);
    if (!state_->running()) {
        asio::post(state_->executor, [state = state_] {
            if (auto call = std::exchange(state->waiting, nullptr)) call(state->status.value_or(ExitStatus{}));
        });
        return;
    }
    state_->wait(state_);
}

std::optional<ExitStatus> ChildProcess::status() const {
    return state_->status;
}

void ChildProcess::terminate() {
    if (!state_->running()) return;
    state_->send(SIGTERM);
    state_->timer.expires_after(state_->grace + (state_->supervised ? Nanoseconds(slack) : Nanoseconds(0)));
    state_->timer.async_wait([state = state_](ErrorCode error) {
        if (!error) state->kill();
    });
}

void ChildProcess::kill() {
    state_->kill();
}

}  // namespace kab
