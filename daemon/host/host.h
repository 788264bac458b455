#pragma once
// A host as the coordinator sees it. A new host kind is another implementation of Host.
#include <memory>
#include <string>

#include "protocol/messages.h"

namespace kab {

/// What a host tells. Called on the owner's thread; never after the Host is destroyed.
class HostListener {
  public:
    virtual ~HostListener() = default;
    virtual void host_up(const msg::Hello& hello) = 0;
    /// The host is gone, and with it what it was doing. The Host tries to come back by itself.
    virtual void host_lost(const std::string& detail) = 0;
    virtual void boot_progress(const msg::BootProgress& progress) = 0;
    virtual void boot_hello(const msg::BootHello& hello) = 0;
    virtual void run_finished(const msg::RunFinished& run) = 0;
    virtual void boot_finished(const msg::BootFinished& finished) = 0;
};

class Host {
  public:
    virtual ~Host() = default;
    /// Begins to bring the host up; the listener hears of it.
    virtual void start(HostListener& listener) = 0;
    /// One boot at a time. Ends with boot_finished or host_lost.
    virtual void boot(const msg::BootRequest& request) = 0;
    virtual void cancel(const std::string& attempt) = 0;
    /// The samples of `attempt` up to `seq` are stored.
    virtual void acknowledge(const std::string& attempt, std::int64_t seq) = 0;
    /// Ends the host and everything it started; the listener hears nothing more.
    virtual void stop() = 0;
};

}  // namespace kab
