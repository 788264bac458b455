// The first part of a boot: from the request to a running QEMU.
#include <sys/resource.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "agent/host/qemu/boot.h"
#include "agent/host/qemu/pinning.h"

namespace kab::qemu {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

namespace {

constexpr Nanoseconds default_boot_limit = std::chrono::seconds(60);
constexpr Nanoseconds default_run_limit = std::chrono::minutes(5);

/// Where it is allowed, other work on this machine gives way: it would be noise in what is measured, and QEMU's
/// thread for timers must be in time for the kernel to trust them. Once the guest is up its CPUs leave more to others.
constexpr int emulator_nice = -20, vcpu_nice = -10;

SteadyTime now() {
    return SystemClock().steady();
}

}  // namespace

Boot::Boot(const asio::any_io_executor& executor, msg::BootRequest request, Send send, Finished finished)
    : executor_(executor),
      request_(std::move(request)),
      send_(std::move(send)),
      finished_(std::move(finished)),
      limit_(executor),
      ending_(executor),
      requested_(now()) {
    if (request_.boot_limit_ns <= 0) request_.boot_limit_ns = default_boot_limit.count();
    if (request_.run_limit_ns <= 0) request_.run_limit_ns = default_run_limit.count();
    request_.plan.run_limit_ns = request_.run_limit_ns;
    request_.plan.exact = request_.exact;
    facts_.runs_planned = static_cast<std::int64_t>(request_.plan.runs.size());
}

std::shared_ptr<Boot> Boot::start(const asio::any_io_executor& executor, const Accelerators& accelerators,
                                  msg::BootRequest request, Send send, Finished finished) {
    std::shared_ptr<Boot> boot(new Boot(executor, std::move(request), std::move(send), std::move(finished)));
    // On the loop, so that `finished` never comes before start() has returned.
    asio::post(executor, [boot, accelerators] {
        boot->progress("starting");
        if (!boot->facts_.cancelled) {
            auto started = boot->prepare(accelerators);
            if (started) started = boot->spawn_emulator();
            if (started) return;
            const Error& error = started.error();
            // What is not there was there when kabd looked: an image, a directory of modules, the agent.
            const bool request_is_wrong = error.fault == Fault::spec;
            (request_is_wrong ? boot->facts_.request_failure : boot->facts_.host_failure) = error.text();
        }
        boot->emulator_gone_ = boot->errors_read_ = true;
        boot->ending_since_ = now();
        boot->finish();
    });
    return boot;
}

Status Boot::prepare(const Accelerators& accelerators) {
    if (msg::encode(request_.plan).size() > max_frame_bytes) {
        return fail(Fault::spec, "the plan of a boot with {} runs is too large; split it", facts_.runs_planned);
    }
    if (auto opened = open_console(); !opened) return opened;
    auto prepared = prepare_boot(request_, accelerators);
    if (!prepared) return pass(prepared);
    prepared_.emplace(std::move(*prepared));
    emulator_program_ = accelerators.emulator.program.string();
    emulator_version_ = accelerators.emulator.version;
    if (prepared_->plan.accel != "kvm") accel_reason_ = accelerators.kvm.usable ? "asked for" : accelerators.kvm.reason;
    return open_sockets();
}

Status Boot::open_console() {
    if (request_.console_path.empty()) return fail(Fault::internal, "the request names no console_path");
    auto console =
        ConsoleFile::create(executor_, request_.console_path,
                            [self = shared_from_this()](std::string_view bytes) { self->receive_console(bytes); });
    if (!console) return pass(console);
    console_ = std::move(*console);
    return {};
}

Status Boot::open_sockets() {
    const auto listen = [this](const fs::path& path, auto on_bytes) {
        return GuestSocket::listen(executor_, path, std::move(on_bytes),
                                   [self = shared_from_this()] { self->finish_if_all_ended(); });
    };
    const BootFiles& files = prepared_->files;
    std::vector<std::pair<std::string, fs::path>> ways = {{"virtio", files.port_socket}};
    if (prepared_->plan.machine == "q35") ways.emplace_back("ttyS1", files.serial_socket);
    for (const auto& [name, path] : ways) {
        auto channel = std::make_shared<Channel>(Channel{name, nullptr, AgentDialog(request_.plan)});
        auto socket = listen(path, [self = shared_from_this(), channel](std::string_view bytes) {
            self->receive_agent(channel, bytes);
        });
        if (!socket) return pass(socket);
        channel->socket = std::move(*socket);
        channels_.push_back(std::move(channel));
    }

    auto control = listen(files.control_socket,
                          [self = shared_from_this()](std::string_view bytes) { self->qmp_->receive(bytes); });
    if (!control) return pass(control);
    control_ = std::move(*control);
    qmp_ = std::make_unique<Qmp>([this](std::string bytes) { control_->send(std::move(bytes)); },
                                 [this](const std::string& event, const Json& data) { receive_control(event, data); });
    learn_vcpus();
    return {};
}

/// QEMU starts stopped: what its virtual CPUs need is done before their first instruction.
void Boot::learn_vcpus() {
    qmp_->query_vcpu_threads([this](const std::vector<int>& threads) {
        vcpu_threads_ = threads;
        conditions_.begin(threads, now());
        pinning_ = pin_vcpus();
        qmp_->resume();
    });
}

/// "yes", or why not. That costs precision, not truth: a thread stays where the host puts it.
std::string Boot::pin_vcpus() const {
    if (vcpu_threads_.empty()) return "QEMU does not tell its threads";
    const auto usable = usable_cpus();
    // Where CPUs do not suffice the host's scheduler does better than any fixed choice.
    const auto cpus = choose_cpus(usable, vcpu_threads_.size());
    if (!cpus) return fmt::format("{} virtual CPUs, and the host has {}", vcpu_threads_.size(), usable.size());
    for (std::size_t i = 0; i < vcpu_threads_.size(); ++i) {
        if (auto pinned = pin_thread(vcpu_threads_[i], (*cpus)[i]); !pinned) return pinned.error().text();
    }
    return "yes";
}

void Boot::ease_vcpus() {
    for (const int thread : vcpu_threads_) {
        const auto id = static_cast<id_t>(thread);
        // As with pinning: a refusal is no failure. Without the right to a negative value there is nothing to ease.
        if (::getpriority(PRIO_PROCESS, id) < vcpu_nice) (void)::setpriority(PRIO_PROCESS, id, vcpu_nice);
    }
}

Status Boot::spawn_emulator() {
    ProcessSpec spec;
    spec.program = emulator_program_;
    spec.args = prepared_->plan.arguments;
    spec.out = Output::null();
    spec.nice = emulator_nice;
    auto child = ChildProcess::start(executor_, spec);
    if (!child) return fail(Fault::infra, "start QEMU: {}", child.error().text());
    emulator_ = std::move(*child);
    started_ = now();
    emulator_->async_wait(
        [self = shared_from_this()](const Result<ExitStatus>& status) { self->emulator_ended(status); });
    read_emulator_errors();
    progress("booting");
    arm(request_.boot_limit_ns, facts_.boot_limit_passed);
    return {};
}

void Boot::read_emulator_errors() {
    emulator_->err()->async_read_some(asio::buffer(error_buffer_),
                                      [self = shared_from_this()](ErrorCode error, std::size_t got) {
                                          self->errors_.push({self->error_buffer_.data(), got});
                                          if (!error) return self->read_emulator_errors();
                                          self->errors_read_ = true;
                                          self->finish_if_all_ended();
                                      });
}

void Boot::start_again() {
    false_start_ = emulator_gone_ = errors_read_ = false;
    ++false_starts_;
    console_->close();
    control_->close();
    channels_.clear();
    qmp_.reset();
    emulator_.reset();
    errors_ = Capture(16384);
    scanner_ = ConsoleScanner();
    facts_.shutdown_reason.clear();
    vcpu_threads_.clear();
    const BootFiles& files = prepared_->files;
    for (const auto& path : {files.port_socket, files.serial_socket, files.control_socket}) {
        std::error_code ignored;
        fs::remove(path, ignored);
    }
    auto started = open_console();
    if (started) started = open_sockets();
    if (started) started = spawn_emulator();
    if (started) return;
    facts_.host_failure = started.error().text();
    emulator_gone_ = errors_read_ = true;
    phase_ = Phase::ending;
    ending_since_ = now();
    finish();
}

}  // namespace kab::qemu
