#pragma once
// kab-host on this machine, as a child that speaks over a pipe. If it dies it is started again, at
// once the first time and then with a growing pause (up to a minute).
#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>

#include "common/process/child.h"
#include "daemon/host/host.h"
#include "protocol/framing.h"

namespace kab {

/// As long as kab-host may take by its own deadlines, from the start of the first emulator to the end of the last run.
Nanoseconds longest_boot(const msg::BootRequest& request);

class LocalHost final : public Host {
  public:
    /// `program`: path of kab-host. The executor's loop must be single-threaded. A kab-host that takes longer for a
    /// boot than longest_boot() and `grace`, in which it prepares one and cleans up, is lost.
    LocalHost(boost::asio::any_io_executor executor, fs::path program, Nanoseconds grace = std::chrono::minutes(1));
    ~LocalHost() override;

    void start(HostListener& listener) override;
    void boot(const msg::BootRequest& request) override;
    void cancel(const std::string& attempt) override;
    void acknowledge(const std::string& attempt, std::int64_t seq) override;
    void stop() override;

  private:
    void spawn();
    void read_more();
    void received(std::size_t size);
    Status handle(const msg::Message& message);
    void boot_ended(const msg::BootFinished& finished);
    Status handle_hello(const msg::Hello& hello);
    void send(const msg::Message& message);
    void write_more();
    void lost(const std::string& detail);

    boost::asio::any_io_executor executor_;
    fs::path program_;
    Nanoseconds grace_;
    HostListener* listener_ = nullptr;
    std::unique_ptr<ChildProcess> child_;
    FrameReader frames_;
    std::array<char, 65536> buffer_{};
    std::deque<std::string> outbox_;
    bool writing_ = false, up_ = false;
    void expect(Nanoseconds within, const std::string& what);

    boost::asio::steady_timer restart_;
    boost::asio::steady_timer patience_;  ///< how long kab-host may take for what is expected next
    int failures_ = 0;
    std::uint64_t life_ = 0;  ///< counts children, so that a late callback of an old one is ignored
};

}  // namespace kab
