#pragma once
// The thin shell around core::step: commits its transitions, then carries out its commands. Lives on
// the daemon's single io_context thread; the store is written there too (a commit takes milliseconds,
// and nothing a guest measures waits for it); only the analysis runs on a thread of its own.
//
// If a commit fails (disk full) memory and database no longer agree: `on_fatal` is called, the daemon
// ends, and the next one goes on from what is in the database.
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "common/machine_lock.h"
#include "common/paths.h"
#include "daemon/coordinator/builder.h"
#include "daemon/coordinator/commit.h"
#include "daemon/coordinator/core/step.h"
#include "daemon/coordinator/inputs.h"
#include "daemon/coordinator/pace.h"
#include "daemon/coordinator/sealed_plan.h"
#include "daemon/coordinator/service.h"
#include "daemon/host/host.h"
#include "daemon/store/store.h"

namespace kab {

/// What a look came to: rows for the store and what the core must know.
struct LookResult {
    std::vector<store::ComparisonRow> rows;
    std::string verdict, sentence;
    bool decided = false;
};

class Coordinator final : public Service, public HostListener {
  public:
    struct Parts {
        boost::asio::any_io_executor executor;
        const Clock* clock = nullptr;
        Paths paths;
        store::Store* store = nullptr;  ///< read-write
        Builder* builder = nullptr;
        Host* host = nullptr;
        std::string agent_hash;               ///< SHA-256 of the kab-agent that is to boot: part of the plan hash
        std::int64_t large_wal = 64LL << 20;  ///< bytes of write-ahead log from which on it is told
        bool machine_lock = true;  ///< boots exclude builds and boots of other daemons (common/machine_lock.h)
        std::function<void(const Error&)> on_fatal;
    };
    explicit Coordinator(Parts parts);
    ~Coordinator() override;

    /// Takes up what the database says is unfinished, and starts the host.
    Status start();
    /// Ends boots, builds and the host. Nothing is called back afterwards.
    void stop();
    /// Does what is due now. A clock that is not that of the executor's timers, a simulated one, calls it as it moves.
    void clock_moved();

    Result<std::string> submit(const Submission& submission) override;
    Status cancel(const std::string& uid) override;
    Status put_blob(const std::string& sha256, const std::string& bytes) override;
    bool has_blob(const std::string& sha256) const override;
    std::vector<ProgressEvent> progress() const override;
    bool busy(const std::string& uid) const override;
    bool idle() const override;
    void add_listener(Listener* listener) override;
    void remove_listener(Listener* listener) override;

    void host_up(const msg::Hello& hello) override;
    void host_lost(const std::string& detail) override;
    void boot_progress(const msg::BootProgress& progress) override;
    void boot_hello(const msg::BootHello& hello) override;
    void run_finished(const msg::RunFinished& run) override;
    void boot_finished(const msg::BootFinished& told) override;

  private:
    using ExtraWrite = std::function<Status(store::Writer&)>;
    /// Steps the core, commits (with `extra` in the same transaction) and carries out the commands.
    void handle(const core::Event& event, const ExtraWrite& extra = {});
    bool commit(const std::vector<core::Transition>& transitions, const ExtraWrite& extra);
    /// Ends the daemon: `what` says what it cannot do.
    void fatal(const Error& error, const char* what = "the database cannot be written");
    void carry_out(const core::Freeze& command);
    void carry_out(const core::Build& command);
    void carry_out(const core::StopBuilder& command);
    void carry_out(const core::Dispatch& command);
    void carry_out(const core::CancelAttempt& command);
    void carry_out(const core::Analyse& command);
    struct Freezing {
        std::vector<store::KernelRow> kernels;  ///< of the arms done, in the experiment's order
        std::vector<core::BadArm> bad;
    };
    void freeze_next(const std::string& evaluation, Freezing so_far);
    void freeze_finished(const std::string& evaluation, Freezing done);
    void analysed(const std::string& evaluation, int look, const Result<LookResult>& result);
    bool waited(const std::string& evaluation, const std::string& attempt);
    void boot_when_alone(const std::string& evaluation, const msg::BootRequest& request);
    /// Writes what a guest or host sent. Data the store refuses is its fault and ends the attempt; a store that
    /// cannot write is ours and ends the daemon.
    bool store_report(const std::string& attempt, const ExtraWrite& write);
    void attach_console(const std::string& attempt);
    Status sweep_artifacts();
    void watch_wal();
    Status take_up(const store::EvaluationRow& row);
    void give_up_lock(const std::string& attempt, msg::Outcome outcome, const std::string& detail);
    /// The plan hash, to which boots are held from now on.
    std::string seal(const std::string& evaluation);
    std::string plan_hash_with(const core::Evaluation& evaluation, const std::string& agent, const std::string& shell);
    /// The plan as it was sealed, or, by its first boot, is; `why` says why that boot is not one of it, if so.
    SealedPlan held_to(const core::Evaluation& evaluation, const msg::BootHello& hello, std::string& why);
    void arm_timer();
    void report_progress(const ProgressEvent& event);
    Builder::Progress progress_of(const std::string& evaluation, const char* phase, const std::string& arm);
    core::Evaluation* find(const std::string& uid);
    core::Evaluation* find_by_attempt(const std::string& attempt, core::Boot*& boot);
    /// What the agent does in a boot of an arm in the present block.
    static msg::AgentPlan runs_of(const core::Evaluation& evaluation, int arm);
    /// Why the block of an attempt that went well cannot count; nothing when it can. The store has what is judged, so
    /// that a restart comes to the same judgement.
    Result<std::string> what_is_missing(const core::Evaluation& evaluation, int arm, const std::string& attempt) const;
    Result<std::optional<core::Exclusion>> exclusion_of(const core::Evaluation& evaluation,
                                                        const std::string& attempt) const;
    msg::BootRequest boot_request(const core::Evaluation& evaluation, const core::Dispatch& command) const;

    Parts parts_;
    UlidSource uids_;
    Inputs inputs_;
    core::State state_;
    Pace pace_;
    struct Refusal {
        std::string why;
        bool other_programs = false;  ///< not booted as planned: its end says nothing of the kernel unless it crashed
    };
    std::map<std::string, AttemptReport> reports_;                    ///< of attempts whose end is being decided
    std::map<std::string, Refusal> refused_;                          ///< of attempts that cannot count
    std::map<std::string, SealedPlan> sealed_;                        ///< of evaluations
    std::map<std::string, std::map<int, store::KernelRow>> kernels_;  ///< evaluation -> arm -> kernel
    std::map<std::string, ProgressEvent> progress_;
    std::map<std::string, std::string> accel_;  ///< evaluation -> what its first boot ran under
    std::set<Listener*> listeners_;
    std::string host_name_ = "local";
    std::string emulator_;    ///< QEMU's version as the host told it
    std::string shell_hash_;  ///< SHA-256 of the guests' shell as far as the host has told; empty without one
    boost::asio::steady_timer deadline_;
    std::optional<MachineLock> lock_;             ///< held while a boot is under way
    std::optional<MachineLockQueue> lock_queue_;  ///< waiting to be alone on this machine
    boost::asio::steady_timer lock_timer_;
    std::string waiting_attempt_;  ///< the attempt that waits for the lock
    std::string booted_attempt_;   ///< the attempt that was given to the host last
    WallTime waiting_since_;
    std::int64_t told_wal_ = 0;  ///< bytes when its size was told last
    std::optional<Error> fatal_;
    std::optional<boost::asio::thread_pool> pool_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    bool stopped_ = false;
};

}  // namespace kab
