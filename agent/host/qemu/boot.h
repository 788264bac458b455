#pragma once
// One boot of one kernel in QEMU, from request to BootFinished.
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "agent/host/console/console_scanner.h"
#include "agent/host/qemu/agent_dialog.h"
#include "agent/host/qemu/boot_files.h"
#include "agent/host/qemu/conditions.h"
#include "agent/host/qemu/console_file.h"
#include "agent/host/qemu/guest_socket.h"
#include "agent/host/qemu/outcome.h"
#include "agent/host/qemu/qmp.h"
#include "common/process/child.h"

namespace kab::qemu {

/// At most this many RunFinished may be unacknowledged; then the agent is not listened to.
inline constexpr std::int64_t most_unacknowledged = 256;

inline constexpr int most_false_starts = 8;

/// Lives on one event loop, by callbacks: prepares, starts QEMU, relays, watches deadlines, and ends when
/// QEMU is gone and all it wrote has been read. Nothing is left after `finished`: no process, no file but
/// the console. Destroying it at any time kills QEMU.
///
///   starting --hello--> running --done, error, deadline, crash, cancel--> ending --all ended--> finished
///      ^ |
///      +-+ a false start: under emulation on a busy machine the guest's timers fail their calibration half a
///          second into the boot; then QEMU is started anew, most_false_starts times at most
class Boot : public std::enable_shared_from_this<Boot> {
  public:
    using Send = std::function<void(const msg::Message&)>;
    using Finished = std::function<void(msg::BootFinished)>;

    /// `send` gets BootProgress, BootHello and RunFinished; `finished` is called once, last, from the loop.
    static std::shared_ptr<Boot> start(const boost::asio::any_io_executor& executor, const Accelerators& accelerators,
                                       msg::BootRequest request, Send send, Finished finished);

    const std::string& attempt() const { return request_.attempt; }
    void cancel();
    /// kabd has stored all runs up to `seq`.
    void acknowledge(std::int64_t seq);

  private:
    enum class Phase { starting, running, ending, finished };
    struct Channel {  ///< one of the two ways by which the agent may speak
        std::string name;
        std::shared_ptr<GuestSocket> socket;
        AgentDialog dialog;
    };

    Boot(const boost::asio::any_io_executor& executor, msg::BootRequest request, Send send, Finished finished);

    // boot_start.cpp
    Status prepare(const Accelerators& accelerators);
    Status open_console();
    Status open_sockets();
    Status spawn_emulator();
    void learn_vcpus();
    std::string pin_vcpus() const;
    void ease_vcpus();
    void read_emulator_errors();

    // boot.cpp
    void receive_control(const std::string& event, const Json& data);
    void receive_console(std::string_view bytes);
    void receive_agent(const std::shared_ptr<Channel>& channel, std::string_view bytes);
    void relay(const std::shared_ptr<Channel>& channel);
    void handle(msg::AgentHello hello);
    void handle(msg::RunFinished run);
    void handle(msg::AgentError error);
    void let_go(Nanoseconds patience);
    bool start_falsely();
    void arm(std::int64_t limit_ns, bool& passed);
    void end(Nanoseconds patience);
    void emulator_says_bye(const std::string& reason);
    void emulator_ended(const Result<ExitStatus>& status);
    void finish_if_all_ended();
    void start_again();
    void finish();
    void complete_facts();
    void progress(const char* phase);

    boost::asio::any_io_executor executor_;
    msg::BootRequest request_;
    Send send_;
    Finished finished_;
    Phase phase_ = Phase::starting;
    std::optional<PreparedBoot> prepared_;
    std::string emulator_program_, emulator_version_, accel_reason_;
    BootFacts facts_;

    std::unique_ptr<ChildProcess> emulator_;
    bool emulator_gone_ = false, errors_read_ = false, ended_by_us_ = false;
    bool false_start_ = false;  ///< this emulator is to be replaced by another
    int false_starts_ = 0;
    Capture errors_{16384};
    std::array<char, 4096> error_buffer_{};

    std::shared_ptr<ConsoleFile> console_;
    std::shared_ptr<GuestSocket> control_;
    std::vector<std::shared_ptr<Channel>> channels_;
    std::shared_ptr<Channel> speaking_;  ///< the one on which the agent said its first word
    std::unique_ptr<Qmp> qmp_;
    std::vector<int> vcpu_threads_;  ///< of QEMU, once it has told
    HostConditions conditions_;
    std::string pinning_;                 ///< as BootHello has it
    bool high_resolution_timers_ = true;  ///< as the agent's hello tells
    ConsoleScanner scanner_;
    std::int64_t acknowledged_ = 0, sent_ = 0;  ///< seq of runs

    boost::asio::steady_timer limit_, ending_;
    SteadyTime requested_, started_, greeted_, ending_since_, last_progress_;
    SteadyTime heard_console_;  ///< when the console's last bytes came, of any of the boot's starts
};

}  // namespace kab::qemu
