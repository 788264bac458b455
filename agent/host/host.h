#pragma once
// The service that kab-host is: takes boot requests, one boot at a time.
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>

#include "agent/host/message_link.h"
#include "agent/host/qemu/boot.h"

namespace kab::host {

/// Ends at EOF on stdin, Shutdown, SIGTERM, SIGINT, SIGHUP, or when kabd is not understood; then the boot
/// under way is ended first. However this process dies, QEMU dies with it (kab-supervise).
class Host {
  public:
    explicit Host(boost::asio::io_context& context);
    ~Host();

    /// Runs the loop until the end. The exit code: 0, or 3 after a failure that was logged.
    int run(int in, int out);

  private:
    void receive(msg::Message message);
    void greet(const msg::Hello& hello);
    void boot(msg::BootRequest request);
    void stop(const std::string& failure);
    void leave();

    boost::asio::io_context& context_;
    boost::asio::signal_set signals_;
    boost::asio::steady_timer last_resort_;
    std::optional<qemu::Accelerators> accelerators_;
    std::shared_ptr<MessageLink> link_;
    std::shared_ptr<qemu::Boot> boot_;  ///< the one under way
    bool greeted_ = false, stopping_ = false;
    int exit_code_ = 0;
};

/// What Hello tells kabd of this machine: cpu, microcode, cores, memory, kernel, hypervisor,
/// governor, mitigations, qemu, kvm, accel, tsc_khz.
std::map<std::string, std::string> host_properties(const qemu::Accelerators& accelerators);

}  // namespace kab::host
