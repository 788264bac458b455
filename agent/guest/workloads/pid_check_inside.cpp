// One process inside a PID namespace, seen from inside and outside.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "agent/guest/workloads/pid_check_parts.h"
#include "common/files.h"

namespace kab::guest::pid_check {
namespace {

/// What the two sides tell each other.
struct Note {
    std::int64_t number = 0;
};

Status send_note(int fd, std::int64_t number) {
    const Note note{number};
    if (::send(fd, &note, sizeof note, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof note)) return {};
    return fail_errno(errno, "send to the other side");
}

Result<std::int64_t> receive_note(int fd) {
    Note note;
    const ssize_t got = ::recv(fd, &note, sizeof note, MSG_WAITALL);
    if (got < 0) return fail_errno(errno, "receive from the other side");
    if (got != static_cast<ssize_t>(sizeof note)) return fail(Fault::io, "the other side went away");
    return note.number;
}

/// Receives a note; the sender's number as the receiver sees it.
Result<std::int64_t> sender_of_note(int fd) {
    Note note;
    iovec part{&note, sizeof note};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (::recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof note))
        return fail_errno(errno, "receive credentials");
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_CREDENTIALS) return fail(Fault::io, "no credentials came");
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
    return sender.pid;
}

Result<std::int64_t> peer_of(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return fail_errno(errno, "SO_PEERCRED");
    return peer.pid;
}

/// A name of our own in the abstract namespace of sockets.
sockaddr_un address(socklen_t& size) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    const auto name = fmt::format("kab-pid-check-{}", ::getppid());
    name.copy(at.sun_path + 1, sizeof at.sun_path - 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return at;
}

Result<UniqueFd> listen_at(const sockaddr_un& at, socklen_t size) {
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!listener) return fail_errno(errno, "socket");
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0) return fail_errno(errno, "bind");
    if (::listen(listener.get(), 1) != 0) return fail_errno(errno, "listen");
    const int on = 1;
    if (::setsockopt(listener.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
        return fail_errno(errno, "SO_PASSCRED");
    return listener;
}

Result<UniqueFd> connect_to(const sockaddr_un& at, socklen_t size) {
    UniqueFd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!connection) return fail_errno(errno, "socket");
    if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0)
        return fail_errno(errno, "connect");
    return connection;
}

/// What a signal that is blocked and waited for says of its sender.
Result<std::int64_t> sender_of_signal(int signal) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, signal);
    siginfo_t info{};
    int got = 0;
    do {
        got = ::sigwaitinfo(&set, &info);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return fail_errno(errno, "sigwaitinfo");
    return info.si_pid;
}

Status block(int signal) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, signal);
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return fail_errno(errno, "sigprocmask");
    return {};
}

/// All of these, in this order, until one is wrong.
Status all_of(std::initializer_list<Status> steps) {
    for (const auto& step : steps)
        if (!step) return step;
    return {};
}

Status refused(std::string_view what, long result, int wanted) {
    const int error = errno;
    if (result >= 0) return fail(Fault::io, "{} from inside succeeds", what);
    return expect(fmt::format("errno of {} from inside", what), error, wanted);
}

/// The process that is looked at: a child of process 1 of the namespace. `elsewhere` is a number outside.
Status be_seen(const sockaddr_un& at, socklen_t size, std::int64_t elsewhere) {
    if (auto parent = expect("getppid() of a child of process 1", ::getppid(), 1); !parent) return parent;
    if (auto same = expect("setsid()", ::setsid(), ::getpid()); !same) return same;
    const auto session =
        all_of({expect("getsid(0)", ::getsid(0), ::getpid()), expect("getpgid(0)", ::getpgid(0), ::getpid()),
                expect("getsid() of itself", ::getsid(::getpid()), ::getpid()), block(SIGUSR1)});
    if (!session) return session;
    auto connection = connect_to(at, size);
    if (!connection) return pass(connection);
    const auto peer = peer_of(connection->get());
    if (!peer) return pass(peer);
    if (auto unseen = expect("SO_PEERCRED of a peer that is outside", *peer, 0); !unseen) return unseen;
    if (auto sent = send_note(connection->get(), ::getpid()); !sent) return sent;
    if (auto sent = send_note(connection->get(), ::getpid()); !sent) return sent;
    const auto sender = sender_of_signal(SIGUSR1);
    if (!sender) return pass(sender);
    if (auto unseen = expect("the sender of a signal from outside", *sender, 0); !unseen) return unseen;
    const auto strangers =
        all_of({refused("kill of a process outside", ::kill(static_cast<pid_t>(elsewhere), 0), ESRCH),
                refused("getpgid of one outside", ::getpgid(static_cast<pid_t>(elsewhere)), ESRCH),
                refused("getsid of one outside", ::getsid(static_cast<pid_t>(elsewhere)), ESRCH)});
    if (!strangers) return strangers;
    if (auto sent = send_note(connection->get(), 0); !sent) return sent;
    const auto enough = receive_note(connection->get());
    return enough ? Status{} : pass(enough);
}

/// Process 1: neither its session nor its process group is of its namespace.
Status be_first(const sockaddr_un& at, socklen_t size, std::int64_t elsewhere) {
    const auto alone =
        all_of({expect("getsid(0) of process 1", ::getsid(0), 0), expect("getpgid(0) of process 1", ::getpgid(0), 0)});
    if (!alone) return alone;
    auto seen = CheckedChild::start("the process inside", [&] { return be_seen(at, size, elsewhere); });
    if (!seen) return pass(seen);
    return seen->wait();
}

Status check_pidfd(std::int64_t outer, std::int64_t inner) {
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(outer), 0)));
    if (!pidfd) return fail_errno(errno, "pidfd_open");
    const auto file = fmt::format("/proc/self/fdinfo/{}", pidfd.get());
    return all_of({expect_numbers(file, "Pid", {outer}), expect_numbers(file, "NSpid", {outer, inner})});
}

/// `outer` and `inner` are one process, a child of `first`.
Status look_at(std::int64_t outer, std::int64_t inner, std::int64_t first) {
    const auto file = fmt::format("/proc/{}/status", outer);
    for (const char* key : {"NStgid", "NSpid", "NSpgid", "NSsid"})
        if (auto same = expect_numbers(file, key, {outer, inner}); !same) return same;
    const auto pid = static_cast<pid_t>(outer);
    return all_of({expect_numbers(file, "PPid", {first}), expect_numbers(file, "Pid", {outer}),
                   expect_numbers(fmt::format("/proc/{}/status", first), "NSpid", {first, 1}),
                   expect("getsid() from outside", ::getsid(pid), outer),
                   expect("getpgid() from outside", ::getpgid(pid), outer), check_pidfd(outer, inner)});
}

Status look_from_outside() {
    socklen_t size = 0;
    const auto at = address(size);
    auto listener = listen_at(at, size);
    if (!listener) return pass(listener);
    const std::int64_t own = ::getpid();
    auto first = CheckedChild::start("process 1", [&] { return be_first(at, size, own); });
    if (!first) return pass(first);
    const UniqueFd connection(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return fail_errno(errno, "accept");
    const auto peer = peer_of(connection.get());
    const auto sender = sender_of_note(connection.get());
    const auto inner = receive_note(connection.get());
    for (const auto* number : {&peer, &sender, &inner})
        if (!*number) return pass(*number);
    if (auto same = expect("SO_PEERCRED", *peer, *sender); !same) return same;
    if (*peer == *inner) return fail(Fault::io, "a process is number {} both inside and outside", *peer);
    if (auto good = look_at(*peer, *inner, first->pid()); !good) return good;
    // By its process group, which has its outer number.
    if (::kill(static_cast<pid_t>(-*peer), SIGUSR1) != 0) return fail_errno(errno, "kill of the process group inside");
    const auto done = receive_note(connection.get());
    if (done)
        if (auto sent = send_note(connection.get(), 0); !sent) return sent;
    if (auto ended = first->wait(); !ended) return ended;
    return done ? Status{} : pass(done);
}

/// A process inside that sends signals to all there are.
Status send_to_all() {
    return all_of({expect("kill(-1) from inside", ::kill(-1, SIGUSR2), 0),
                   expect("kill(1, SIGTERM) from inside", ::kill(1, SIGTERM), 0),
                   expect("kill(1, SIGKILL) from inside", ::kill(1, SIGKILL), 0)});
}

Status receive_from(std::int64_t& sender) {
    const auto found = sender_of_signal(SIGUSR2);
    if (found) sender = *found;
    return found ? Status{} : pass(found);
}

/// Process 1, which outlives the signals from inside.
Status be_first_among_signals() {
    auto shared = Shared<std::int64_t>::make();
    if (!shared) return pass(shared);
    std::int64_t& sender = *shared->operator->();
    if (auto blocked = block(SIGUSR2); !blocked) return blocked;  // inherited: nobody can miss it
    auto bystander = CheckedChild::start("the bystander", [&] { return receive_from(sender); });
    if (!bystander) return pass(bystander);
    auto shooter = CheckedChild::start("the sender", send_to_all);
    if (!shooter) return pass(shooter);
    const std::int64_t number = shooter->pid();
    if (auto ended = shooter->wait(); !ended) return ended;
    if (auto ended = bystander->wait(); !ended) return ended;
    if (auto right = expect("the sender of kill(-1)", sender, number); !right) return right;
    sigset_t pending;
    if (::sigpending(&pending) != 0) return fail_errno(errno, "sigpending");
    return expect("whether kill(-1) reaches process 1", ::sigismember(&pending, SIGUSR2), 0);
}

Status watch_signals() {
    if (auto blocked = block(SIGUSR2); !blocked) return blocked;
    auto first = CheckedChild::start("process 1", be_first_among_signals);
    if (!first) return pass(first);
    if (auto ended = first->wait(); !ended) return ended;
    sigset_t pending;
    if (::sigpending(&pending) != 0) return fail_errno(errno, "sigpending");
    return expect("whether kill(-1) from inside reaches a process outside", ::sigismember(&pending, SIGUSR2), 0);
}

}  // namespace

Status check_numbers() {
    return outside(look_from_outside);
}

Status check_signals() {
    return outside(watch_signals);
}

}  // namespace kab::guest::pid_check
