#pragma once
// The coordinator's decisions, as one pure function:
//
//     step(state, event, now) -> transitions + commands
//
// The shell (daemon/coordinator) first commits the transitions to the store in one transaction, then
// carries out the commands. After a crash the state is rebuilt from the store and Restarted is the first
// event. No Asio, no SQL, no clock, no randomness but the given source of names.
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "common/result.h"
#include "daemon/coordinator/core/state.h"

namespace kab::core {

// ---- events ----
struct Submitted {
    Evaluation evaluation;
};
/// The first event of a life: attempts left open by the previous one are lost.
struct Restarted {};
/// An arm whose kernel cannot be frozen.
struct BadArm {
    int arm = 0;  ///< index into the plan's arms
    Error error;
};
struct FreezeFinished {
    std::string evaluation;
    std::vector<BadArm> bad;  ///< empty: all is frozen
};
struct BuildFinished {
    std::string evaluation;
    int arm = 0;
    Status status;
};
/// Why a block cannot count, by a cause that was declared beforehand and is blind to the arm.
struct Exclusion {
    std::string cause;   ///< "steal"
    std::string detail;  ///< "steal was 7.3% of the host's CPU time in run 4 of deferred-free, more than 2%"
};
struct AttemptFinished {
    std::string attempt;
    msg::Outcome outcome = msg::Outcome::infra_error;
    std::string detail;
    std::optional<Exclusion> exclusion{};  ///< the boot went well, but its block cannot count
    /// What the kernel said on its console though the boot went well: a failed check, on a debug kernel.
    std::string complaint{};
};
struct HostUp {
    std::string no_kvm;      ///< why the host has no KVM; empty when it has
    std::string no_shell{};  ///< why it has no shell for its guests; empty when it has
};
struct HostLost {
    std::string detail;
};
struct LookFinished {
    std::string evaluation;
    bool ok = false;       ///< the analysis could be made
    bool decided = false;  ///< nothing more to learn
    std::string detail;    ///< the sentence, or the error
};
struct CancelRequested {
    std::string evaluation;
};
/// The boot that was dispatched had to wait that long until this machine was free.
struct Waited {
    std::string evaluation;
    Nanoseconds time{0};
};
/// Time passed: deadlines are looked at.
struct Tick {};

using Event = std::variant<Submitted, Restarted, FreezeFinished, BuildFinished, AttemptFinished, HostUp, HostLost,
                           LookFinished, CancelRequested, Waited, Tick>;

// ---- transitions: what the store must record, in order ----
struct SetEvaluation {
    std::string evaluation;
    EvaluationStatus from, to;
    std::string detail;
    std::optional<Fault> fault;  ///< why it failed, where that is known
};
struct SetArm {
    std::string evaluation, arm;
    ArmStatus from, to;
    std::string detail;
};
struct AddBlock {
    std::string evaluation;
    int number = 0, repetition = 1;
};
struct SetBlock {
    std::string evaluation;
    int number = 0, repetition = 1;
    BlockStatus from, to;
    std::string detail;
    std::string cause{};  ///< of an exclusion, one word
};
struct AddBoot {
    std::string evaluation;
    int number = 0, repetition = 1;
    std::string arm;
    int position = 0;
    std::string uid;
};
struct SetBoot {
    std::string uid;
    BootStatus from, to;
    std::string outcome, detail;
};
/// Before the first attempt, when all is known that the plan hash covers: the shell computes and stores it.
struct SealPlan {
    std::string evaluation;
};
struct AddAttempt {
    std::string boot, uid;
    int number = 1;
};
/// The end of an attempt; the shell adds the timings and the console it got from the host.
struct FinishAttempt {
    std::string uid;
    msg::Outcome outcome;
    std::string detail;
    bool lost = false;
};
struct AcceptAttempt {
    std::string boot, attempt;
};

using Transition = std::variant<SetEvaluation, SetArm, AddBlock, SetBlock, AddBoot, SetBoot, SealPlan, AddAttempt,
                                FinishAttempt, AcceptAttempt>;

// ---- commands: what the shell does after the commit ----
struct Freeze {
    std::string evaluation;
};
struct Build {
    std::string evaluation;
    int arm = 0;
};
struct StopBuilder {};
struct Dispatch {
    std::string evaluation, boot, attempt;
    int block = 0, arm = 0;
};
struct CancelAttempt {
    std::string attempt;
};
struct Analyse {
    std::string evaluation;
    int look = 0;  ///< from 0; -1: of all there is, as nothing more will come
};

using Command = std::variant<Freeze, Build, StopBuilder, Dispatch, CancelAttempt, Analyse>;

struct Step {
    std::vector<Transition> transitions;
    std::vector<Command> commands;
};

/// Changes `state` as if the transitions were committed. `new_uid` names boots and attempts.
Step step(State& state, const Event& event, WallTime now, const std::function<std::string()>& new_uid);

/// When Tick is wanted next; nullopt when no deadline runs.
std::optional<WallTime> next_deadline(const State& state);

}  // namespace kab::core
