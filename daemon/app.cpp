#include "daemon/app.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>

#include "common/digest/sha256.h"
#include "daemon/api/api_server.h"
#include "daemon/coordinator/builder.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/fault/fault_point.h"
#include "daemon/host/local_host.h"

namespace kab {
namespace asio = boost::asio;
namespace {

struct Programs {
    fs::path host, build, agent;
    std::string agent_hash;
};

Result<Programs> find_programs() {
    Programs programs;
    for (auto [name, path] : {std::pair{"kab-host", &programs.host}, std::pair{"kab-build", &programs.build},
                              std::pair{"kab-agent", &programs.agent}}) {
        auto found = find_program(name);
        if (!found) return pass(found);
        *path = *found;
    }
    auto hash = sha256_file(programs.agent);
    if (!hash) return pass(hash);
    programs.agent_hash = *hash;
    return programs;
}

class App {
  public:
    App(const AppOptions& options, Programs programs, std::unique_ptr<store::Store> writer,
        std::unique_ptr<store::Store> reader);
    Status start();
    int run();

  private:
    void end(const std::string& why, int code);
    void end_soon(const std::string& why, int code);
    void watch_idle();
    void watch_signals();

    AppOptions options_;
    Programs programs_;
    std::unique_ptr<store::Store> writer_, reader_;
    asio::io_context io_{1};  // single-threaded: what Boost.Process needs, and what makes order plain
    SystemClock clock_;
    ProcessBuilder builder_;
    LocalHost host_;
    Coordinator coordinator_;
    api::ApiServer server_;
    asio::signal_set signals_;
    asio::steady_timer idle_, last_words_;
    std::chrono::steady_clock::time_point busy_until_ = std::chrono::steady_clock::now();
    bool ending_ = false;
    int code_ = 0;
};

App::App(const AppOptions& options, Programs programs, std::unique_ptr<store::Store> writer,
         std::unique_ptr<store::Store> reader)
    : options_(options),
      programs_(std::move(programs)),
      writer_(std::move(writer)),
      reader_(std::move(reader)),
      builder_(io_.get_executor(), programs_.build, options.paths.state / "scratch"),
      host_(io_.get_executor(), programs_.host),
      coordinator_({io_.get_executor(), &clock_, options.paths, writer_.get(), &builder_, &host_, programs_.agent_hash,
                    64LL << 20, true, [this](const Error& error) { end_soon(error.text(), 3); }}),
      server_(
          io_, coordinator_, *reader_,
          {options.socket,
           options.is_private ? 0600U : 0660U,
           {KAB_VERSION, options.paths.state.string(), options.is_private, [this] { end("asked to shut down", 0); }},
           {}}),
      signals_(io_, SIGTERM, SIGINT),
      idle_(io_),
      last_words_(io_) {}

Status App::start() {
    watch_signals();
    if (auto started = coordinator_.start(); !started) return started;
    if (auto listening = server_.start(); !listening) return listening;
    if (options_.is_private) watch_idle();
    return {};
}

int App::run() {
    io_.run();
    coordinator_.stop();
    fault_point("end.stopped");
    if (auto done = writer_->checkpoint(); !done) spdlog::warn("checkpoint: {}", done.error().text());
    return code_;
}

/// Stop accepting, cancel, join; io_.run() returns when nothing is left to do.
void App::end(const std::string& why, int code) {
    if (ending_) return;
    ending_ = true;
    code_ = code;
    spdlog::info("kabd ends: {}", why);
    server_.stop();
    coordinator_.stop();
    signals_.cancel();
    idle_.cancel();
    last_words_.cancel();
    io_.stop();
}

/// After a fault: the answers under way, which say what went wrong, still go out.
void App::end_soon(const std::string& why, int code) {
    code_ = code;
    last_words_.expires_after(std::chrono::milliseconds(500));
    last_words_.async_wait([this, why, code](const boost::system::error_code& error) {
        if (!error) end(why, code);
    });
}

void App::watch_signals() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
        if (!error) end(fmt::format("signal {}", signal), 0);
    });
}

void App::watch_idle() {
    idle_.expires_after(std::chrono::seconds(1));
    idle_.async_wait([this](const boost::system::error_code& error) {
        if (error || ending_) return;
        const auto now = std::chrono::steady_clock::now();
        if (!coordinator_.idle() || server_.connections() > 0) busy_until_ = now;
        busy_until_ = std::max(busy_until_, server_.last_activity());
        if (now - busy_until_ >= std::chrono::seconds(options_.idle_seconds))
            return end(fmt::format("idle for {} s", options_.idle_seconds), 0);
        watch_idle();
    });
}

/// Request files of builds that a killed daemon left behind.
void sweep(const Paths& paths) {
    std::error_code ignored;
    fs::remove_all(paths.state / "scratch", ignored);
}

/// A kabd that was killed as it started a program leaves the lock to the copy of itself that is to become that program,
/// for as long as this takes: milliseconds, more on a busy machine.
Result<FileLock> take_state(const Paths& paths) {
    constexpr auto pause = std::chrono::milliseconds(20);
    constexpr int tries = 50;
    for (int i = 1;; ++i) {
        auto lock = FileLock::try_take(paths.state / "kabd.lock");
        if (lock || lock.error().fault != Fault::conflict || i == tries) return lock;
        if (i == 1) spdlog::info("the lock of {} is held: waiting for a moment", paths.state.string());
        std::this_thread::sleep_for(pause);
    }
}

void tell(int fd, const std::string& line) {
    if (fd < 0) return;
    // A CLI that has gone away is no reason not to run.
    if (auto written = write_all(fd, line + "\n"); !written) spdlog::warn("ready-fd: {}", written.error().text());
    ::close(fd);
}

Result<int> run_locked(const AppOptions& options) {
    fault_point("start.locked");
    auto programs = find_programs();
    if (!programs) return pass(programs);
    auto writer = store::Store::open(options.paths.database(), store::Store::Mode::read_write);
    if (!writer) return pass(writer);
    auto reader = store::Store::open(options.paths.database(), store::Store::Mode::read_only);
    if (!reader) return pass(reader);
    sweep(options.paths);
    App app(options, std::move(*programs), std::move(*writer), std::move(*reader));
    if (auto started = app.start(); !started) return pass(started);
    fault_point("start.serving");
    spdlog::info("kabd {} serves {} on {}", KAB_VERSION, options.paths.state.string(), options.socket.string());
    tell(options.ready_fd, "ready");
    return app.run();
}

}  // namespace

Result<int> run_daemon(const AppOptions& given) {
    AppOptions options = given;
    if (options.socket.empty()) options.socket = options.paths.socket();
    auto made = make_directories(options.paths.state);
    Result<FileLock> lock = made ? take_state(options.paths) : pass(made);
    Result<int> result = lock ? run_locked(options) : pass(lock);
    if (!lock && lock.error().fault == Fault::conflict)
        result = fail(Fault::conflict, "another kabd has the state directory {}", options.paths.state.string());
    if (!result) tell(options.ready_fd, fmt::format("{}: {}", to_string(result.error().fault), result.error().text()));
    return result;
}

}  // namespace kab
