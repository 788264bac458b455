#pragma once
// The working part of step(): one object per call, collects what it decides.
#include "daemon/coordinator/core/step.h"

namespace kab::core {

bool ended(EvaluationStatus status);

class Machine {
  public:
    Machine(State& state, WallTime now, const std::function<std::string()>& new_uid)
        : state_(state), now_(now), new_uid_(new_uid) {}

    void on(const Submitted& event);
    void on(const Restarted& event);
    void on(const FreezeFinished& event);
    void on(const BuildFinished& event);
    void on(const AttemptFinished& event);
    void on(const HostUp& event);
    void on(const HostLost& event);
    void on(const LookFinished& event);
    void on(const CancelRequested& event);
    void on(const Waited& event);
    void on(const Tick& event);

    /// Starts whatever can be started now.
    void advance();
    Step take() { return std::move(out_); }

  private:
    // progress of one evaluation
    void advance_freezing();
    Evaluation* active();
    void advance_building(Evaluation& evaluation);
    void advance_running(Evaluation& evaluation);
    void start_block(Evaluation& evaluation, int number, int repetition);
    void dispatch_next(Evaluation& evaluation);
    void finish_block(Evaluation& evaluation);
    void repeat_block(Evaluation& evaluation, const Exclusion& why);
    void excluded_too_often(Evaluation& evaluation, const Exclusion& last);
    void boot_failed(Evaluation& evaluation, Boot& boot, const AttemptFinished& event);
    void attempt_ended(Evaluation& evaluation, Boot& boot, AttemptFinished event, bool lost);
    void fail_variants(Evaluation& evaluation, int arm, const std::string& why);
    void stop_wrong_arms(Evaluation& evaluation);
    void stop_failing_arms(Evaluation& evaluation);
    bool keeps_failing(const Evaluation& evaluation) const;
    bool comparable(const Evaluation& evaluation) const;
    bool pair_left(const Evaluation& evaluation) const;
    bool vouched(const Evaluation& evaluation) const;
    void nothing_left(Evaluation& evaluation, std::optional<Fault> fault);
    void conclude(Evaluation& evaluation);
    void freeze_failed(Evaluation& evaluation, const std::vector<BadArm>& bad);
    void refuse_without_kvm();
    void refuse_without_shell();
    void end(Evaluation& evaluation, EvaluationStatus status, const std::string& detail,
             std::optional<Fault> fault = {});

    // small things
    Evaluation* find(const std::string& uid);
    bool find_attempt(const std::string& attempt, Evaluation*& evaluation, Boot*& boot);
    void set(Evaluation& evaluation, EvaluationStatus to, const std::string& detail = {},
             std::optional<Fault> fault = {});
    void set(Evaluation& evaluation, int arm, ArmStatus to, const std::string& detail = {});
    void set(Boot& boot, BootStatus to, const std::string& outcome = {}, const std::string& detail = {});
    void set_block(Evaluation& evaluation, BlockStatus to, const Exclusion& why = {});
    void drop_finished();

    template <class T>
    void command(T&& what) {
        out_.commands.emplace_back(std::forward<T>(what));
    }

    State& state_;
    WallTime now_;
    const std::function<std::string()>& new_uid_;
    Step out_;
};

}  // namespace kab::core
