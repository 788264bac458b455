#include "agent/host/host.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <csignal>

#include "agent/host/qemu/scratch.h"

namespace kab::host {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

namespace {

constexpr int exit_failure = 3;
constexpr int host_nice = -10;
/// For a boot to end and the last messages to be written; after it the supervisor cleans up.
constexpr auto stop_limit = std::chrono::seconds(10);

}  // namespace

Host::Host(asio::io_context& context)
    : context_(context), signals_(context, SIGTERM, SIGINT, SIGHUP), last_resort_(context) {}

Host::~Host() = default;

int Host::run(int in, int out) {
    // What relays must not wait behind other work; where it is not allowed nothing changes. QEMU adds its own.
    (void)::setpriority(PRIO_PROCESS, 0, host_nice);
    qemu::sweep_scratch();
    auto found = qemu::find_accelerators();
    if (!found) {
        spdlog::error("{}", found.error().text());
        return exit_failure;
    }
    accelerators_ = std::move(*found);
    auto link = MessageLink::open(
        context_.get_executor(), in, out, [this](msg::Message message) { receive(std::move(message)); },
        [this](const std::string& error) { stop(error); });
    if (!link) {
        spdlog::error("{}", link.error().text());
        return exit_failure;
    }
    link_ = std::move(*link);
    signals_.async_wait([this](ErrorCode error, int) {
        if (!error) stop({});
    });
    msg::Hello hello;
    hello.role = "kab-host";
    hello.build = KAB_VERSION;
    hello.capabilities = {"qemu"};
    hello.properties = host_properties(*accelerators_);
    link_->send(hello);
    context_.run();
    return exit_code_;
}

void Host::receive(msg::Message message) {
    if (const auto* hello = std::get_if<msg::Hello>(&message)) return greet(*hello);
    if (!greeted_) return stop("kabd did not say hello first");
    if (auto* request = std::get_if<msg::BootRequest>(&message)) return boot(std::move(*request));
    if (std::holds_alternative<msg::Shutdown>(message)) return stop({});
    if (const auto* cancel = std::get_if<msg::CancelBoot>(&message)) {
        if (boot_ && boot_->attempt() == cancel->attempt) boot_->cancel();
        return;
    }
    if (const auto* ack = std::get_if<msg::SampleAck>(&message)) {
        if (boot_ && boot_->attempt() == ack->attempt) boot_->acknowledge(ack->seq);
        return;
    }
    stop("kabd sent a message that is not for hosts");
}

void Host::greet(const msg::Hello& hello) {
    if (greeted_) return stop("kabd said hello twice");
    if (hello.major != msg::protocol_major) {
        return stop(fmt::format("kabd speaks protocol {}.{}, this kab-host {}.{}: install the same version of both",
                                hello.major, hello.minor, msg::protocol_major, msg::protocol_minor));
    }
    greeted_ = true;
}

void Host::boot(msg::BootRequest request) {
    if (boot_ && boot_->attempt() == request.attempt) return;  // asked again; it is under way
    if (boot_ || stopping_) {
        msg::BootFinished refusal;
        refusal.attempt = request.attempt;
        refusal.detail = boot_ ? "this host is busy with attempt " + boot_->attempt() : "this host is about to end";
        return link_->send(refusal);
    }
    boot_ = qemu::Boot::start(
        context_.get_executor(), *accelerators_, std::move(request),
        [this](const msg::Message& message) { link_->send(message); },
        [this](const msg::BootFinished& finished) {
            link_->send(finished);
            boot_.reset();
            if (stopping_) leave();
        });
}

void Host::stop(const std::string& failure) {
    if (stopping_) return;
    stopping_ = true;
    if (!failure.empty()) {
        spdlog::error("{}", failure);
        exit_code_ = exit_failure;
    }
    last_resort_.expires_after(stop_limit);
    last_resort_.async_wait([this](ErrorCode error) {
        if (!error) context_.stop();
    });
    if (boot_) {
        boot_->cancel();
    } else {
        leave();
    }
}

void Host::leave() {
    link_->flush([this] { context_.stop(); });
}

}  // namespace kab::host
