#pragma once
// The host's side of the conversation with kab-agent: what may come when. Pure.
#include <optional>
#include <string>

#include "agent/host/qemu/command_line.h"
#include "protocol/framing.h"
#include "protocol/messages.h"

namespace kab::qemu {

/// hello, then (run started, run finished) for each run of the plan in order, then done; or an error at
/// any point, after which nothing counts.
class AgentDialog {
  public:
    explicit AgentDialog(const msg::AgentPlan& plan) : plan_(plan) {}

    /// Feed bytes, then take messages until there are none. Fault::protocol for what is not understood or
    /// comes out of turn; do not go on after that.
    void push(std::string_view bytes) { reader_.push(bytes); }
    Result<std::optional<msg::Message>> next();

    bool hello() const { return hello_; }
    bool ended() const { return ended_; }  ///< done or error has come
    std::int64_t runs_finished() const { return finished_; }
    std::int64_t run_in_progress() const { return in_progress_; }

  private:
    Status check(const msg::Message& message);

    const msg::AgentPlan& plan_;
    FrameReader reader_;
    bool hello_ = false, ended_ = false;
    std::int64_t finished_ = 0;
    std::int64_t in_progress_ = 0;  ///< seq; 0: none
};

/// Why a guest is not the machine that was planned; empty when it is. Of a clock or timers other than planned
/// and of too many CPUs; a missing one is the kernel's doing, see missing_cpus.
std::string plan_mismatch(const msg::AgentHello& hello, const BootPlan& plan);

/// What is wrong when the kernel brought fewer CPUs up than it was given; empty when it did not.
std::string missing_cpus(const msg::AgentHello& hello, const BootPlan& plan);

}  // namespace kab::qemu
