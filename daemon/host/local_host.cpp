#include "daemon/host/local_host.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <limits>

#include "common/units.h"

namespace kab {
namespace asio = boost::asio;

namespace {

/// Blocks until the process has ended or the time is over; it is reaped by its ChildProcess.
void await_end(int pid, std::chrono::milliseconds within) {
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process) return;  // it has ended already
    pollfd waiting{process.get(), POLLIN, 0};
    while (::poll(&waiting, 1, static_cast<int>(within.count())) < 0 && errno == EINTR) {
    }
}

}  // namespace

Nanoseconds longest_boot(const msg::BootRequest& request) {
    // The emulator may be started anew eight times (most_false_starts of agent/host/qemu/boot.h). The limit of a run
    // begins again with hello, with each run that starts and with each that ends.
    constexpr std::int64_t starts = 9;
    const auto spans = 2 * static_cast<std::int64_t>(request.plan.runs.size()) + 1;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
    const auto times = [](std::int64_t count, std::int64_t limit) {
        return limit > most / count ? most : count * limit;
    };
    return Nanoseconds(times(starts, request.boot_limit_ns) + times(spans, request.run_limit_ns));
}

LocalHost::LocalHost(asio::any_io_executor executor, fs::path program, Nanoseconds grace)
    : executor_(executor), program_(std::move(program)), grace_(grace), restart_(executor), patience_(executor) {}

LocalHost::~LocalHost() {
    stop();
}

void LocalHost::start(HostListener& listener) {
    listener_ = &listener;
    spawn();
}

void LocalHost::stop() {
    listener_ = nullptr;
    ++life_;
    restart_.cancel();
    patience_.cancel();
    if (child_) {
        // At the end of its input kab-host ends its guest, removes its files and exits.
        child_->close_stdin();
        await_end(child_->pid(), std::chrono::seconds(2));
    }
    child_.reset();
}

/// If `what` has not come by then, kab-host hangs: it is killed, and with it what it started.
void LocalHost::expect(Nanoseconds within, const std::string& what) {
    patience_.expires_after(within);
    patience_.async_wait([this, life = life_, within, what](const boost::system::error_code& error) {
        if (error || life != life_) return;
        lost(fmt::format("kab-host did not send {} within {}", what, format_duration(within)));
    });
}

void LocalHost::spawn() {
    ProcessSpec spec;
    spec.program = program_.string();
    spec.supervised = false;  // it ends at EOF on its stdin, and supervises what it starts
    spec.in = ProcessSpec::Input::pipe;
    spec.out = Output::pipe();
    spec.err = Output::inherit();
    frames_ = {};
    outbox_.clear();
    writing_ = up_ = false;
    ++life_;
    auto child = ChildProcess::start(executor_, spec);
    if (!child) return lost("kab-host cannot be started: " + child.error().text());
    child_ = std::move(*child);
    child_->async_wait([](const Result<ExitStatus>&) {});  // reaps; the end is seen as EOF on its stdout
    msg::Hello hello;
    hello.role = "kabd";
    hello.build = KAB_VERSION;
    send(hello);
    expect(std::chrono::seconds(60), "its hello");
    read_more();
}

void LocalHost::read_more() {
    const auto life = life_;
    child_->out()->async_read_some(asio::buffer(buffer_),
                                   [this, life](const boost::system::error_code& error, std::size_t size) {
                                       if (life != life_) return;
                                       if (error) return lost("the connection to kab-host ended: " + error.message());
                                       received(size);
                                   });
}

void LocalHost::received(std::size_t size) {
    const auto life = life_;
    frames_.push({buffer_.data(), size});
    for (;;) {
        auto payload = frames_.pop();
        if (!payload) return lost("kab-host: " + payload.error().text());
        if (!*payload) break;
        auto message = msg::decode(**payload);
        Status status;
        if (message)
            status = handle(*message);
        else
            status = pass(message);
        if (life != life_) return;  // the listener stopped us
        if (!status) return lost("kab-host: " + status.error().text());
    }
    read_more();
}

Status LocalHost::handle_hello(const msg::Hello& hello) {
    // An older minor does not tell which agent it packed, without which no boot counts.
    if (hello.major != msg::protocol_major || hello.minor < 2) {
        return fail(Fault::protocol, "speaks protocol {}.{}, kabd speaks {}.{}; install the same version of both",
                    hello.major, hello.minor, msg::protocol_major, msg::protocol_minor);
    }
    up_ = true;
    patience_.cancel();
    listener_->host_up(hello);
    return {};
}

Status LocalHost::handle(const msg::Message& message) {
    if (const auto* hello = std::get_if<msg::Hello>(&message)) return handle_hello(*hello);
    if (!up_) return fail(Fault::protocol, "the first message was not hello");
    if (const auto* progress = std::get_if<msg::BootProgress>(&message))
        listener_->boot_progress(*progress);
    else if (const auto* guest = std::get_if<msg::BootHello>(&message))
        listener_->boot_hello(*guest);
    else if (const auto* run = std::get_if<msg::RunFinished>(&message))
        listener_->run_finished(*run);
    else if (const auto* finished = std::get_if<msg::BootFinished>(&message))
        boot_ended(*finished);
    else
        return fail(Fault::protocol, "a message that only kabd may send");
    return {};
}

void LocalHost::boot(const msg::BootRequest& request) {
    send(request);
    // kab-host has deadlines of its own; this is for a kab-host that hangs itself.
    expect(longest_boot(request) + grace_, "the end of a boot");
}

void LocalHost::boot_ended(const msg::BootFinished& finished) {
    patience_.cancel();
    failures_ = 0;  // it works: the next loss is again repaired at once
    listener_->boot_finished(finished);
}

void LocalHost::cancel(const std::string& attempt) {
    send(msg::CancelBoot{attempt});
    expect(std::chrono::seconds(30), "the end of a cancelled boot");
}

void LocalHost::acknowledge(const std::string& attempt, std::int64_t seq) {
    send(msg::SampleAck{attempt, seq});
}

void LocalHost::send(const msg::Message& message) {
    if (!child_) return;
    outbox_.push_back(frame(msg::encode(message)));
    if (!writing_) write_more();
}

void LocalHost::write_more() {
    if (outbox_.empty()) return;
    writing_ = true;
    const auto life = life_;
    asio::async_write(*child_->in(), asio::buffer(outbox_.front()),
                      [this, life](const boost::system::error_code& error, std::size_t) {
                          if (life != life_) return;
                          writing_ = false;
                          // A broken pipe shows as EOF on the reading side too, which reports it.
                          if (error) return;
                          outbox_.pop_front();
                          write_more();
                      });
}

void LocalHost::lost(const std::string& detail) {
    ++life_;
    const auto life = life_;
    patience_.cancel();
    child_.reset();
    // At once the first time, then 1, 2, 4 ... 60 seconds.
    const auto pause = failures_ == 0 ? 0 : std::min(60, 1 << std::min(failures_ - 1, 6));
    ++failures_;
    restart_.expires_after(std::chrono::seconds(pause));
    restart_.async_wait([this, life](const boost::system::error_code& error) {
        if (!error && life == life_ && listener_ != nullptr) spawn();
    });
    if (listener_ != nullptr) listener_->host_lost(detail);
}

}  // namespace kab
