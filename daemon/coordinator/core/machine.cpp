// Events: what happened, and what it means. The scheduling is in advance.cpp.
#include "daemon/coordinator/core/machine.h"

#include <algorithm>
#include <cassert>

namespace kab::core {
bool ended(EvaluationStatus status) {
    return status == EvaluationStatus::done || status == EvaluationStatus::failed ||
           status == EvaluationStatus::cancelled;
}

void Machine::on(const Submitted& event) {
    state_.evaluations.push_back(event.evaluation);
}

void Machine::on(const Restarted&) {
    state_.host_attempt.clear();
    state_.builder.clear();
    for (auto& evaluation : state_.evaluations) {
        // The time in which there was no coordinator does not count.
        if (evaluation.started) evaluation.started = now_;
        // What was under way in the previous life is asked for again.
        if (evaluation.status == EvaluationStatus::freezing)
            set(evaluation, EvaluationStatus::queued, "the coordinator was restarted");
        for (std::size_t arm = 0; arm < evaluation.arms.size(); ++arm)
            if (evaluation.arms[arm].status == ArmStatus::building)
                set(evaluation, static_cast<int>(arm), ArmStatus::pending, "the coordinator was restarted");
        if (!evaluation.block) continue;
        evaluation.block->dispatched = false;
        for (auto& boot : evaluation.block->boots) {
            if (boot.open_attempt.empty()) continue;
            AttemptFinished lost{boot.open_attempt, msg::Outcome::infra_error, "lost with the coordinator"};
            attempt_ended(evaluation, boot, lost, true);
        }
    }
}

void Machine::on(const FreezeFinished& event) {
    if (state_.builder == event.evaluation) state_.builder.clear();
    auto* evaluation = find(event.evaluation);
    if (evaluation == nullptr || evaluation->status != EvaluationStatus::freezing) return;
    if (!event.bad.empty()) return freeze_failed(*evaluation, event.bad);
    evaluation->frozen = true;
    set(*evaluation, EvaluationStatus::queued, "inputs frozen");
}

void Machine::freeze_failed(Evaluation& evaluation, const std::vector<BadArm>& bad) {
    std::string all;
    for (const auto& [arm, error] : bad) {
        const auto& name = evaluation.plan.arms[static_cast<std::size_t>(arm)].name;
        all += fmt::format("{}arm {}: {}", all.empty() ? "" : "; ", name, error.text());
        for (std::size_t i = 0; i < evaluation.arms.size(); ++i)
            if (kernel_owner(evaluation.plan, static_cast<int>(i)) == arm)
                set(evaluation, static_cast<int>(i), ArmStatus::failed, error.text());
    }
    end(evaluation, EvaluationStatus::failed, all, bad.front().error.fault);
}

void Machine::on(const BuildFinished& event) {
    if (state_.builder == event.evaluation) state_.builder.clear();
    auto* evaluation = find(event.evaluation);
    if (evaluation == nullptr || evaluation->status != EvaluationStatus::building) return;
    // The control arm boots the baseline's kernel: what holds for one holds for the other.
    const auto& plan = evaluation->plan;
    for (std::size_t i = 0; i < plan.arms.size(); ++i)
        if (kernel_owner(plan, static_cast<int>(i)) == kernel_owner(plan, event.arm))
            set(*evaluation, static_cast<int>(i), event.status ? ArmStatus::ready : ArmStatus::failed,
                event.status ? "" : event.status.error().text());
    if (!event.status) fail_variants(*evaluation, event.arm, event.status.error().text());
    if (!event.status && !comparable(*evaluation)) nothing_left(*evaluation, event.status.error().fault);
}

/// An arm is no use without its debug variant, which its checks need, nor a variant without its arm.
void Machine::fail_variants(Evaluation& evaluation, int arm, const std::string& why) {
    const auto& plan = evaluation.plan;
    const auto& failed = plan.arms[static_cast<std::size_t>(arm)];
    if (failed.role != Role::measured && failed.role != Role::debug) return;
    for (std::size_t i = 0; i < plan.arms.size(); ++i) {
        const bool variant = failed.role == Role::measured
                                 ? plan.arms[i].role == Role::debug && plan.arms[i].kernel_of == arm
                                 : kernel_owner(plan, static_cast<int>(i)) == failed.kernel_of;
        if (!variant || evaluation.arms[i].status == ArmStatus::failed) continue;
        set(evaluation, static_cast<int>(i), ArmStatus::failed,
            failed.role == Role::measured ? "its arm could not be built"
                                          : "its debug variant could not be built: " + why);
    }
}

void Machine::on(const AttemptFinished& event) {
    if (state_.host_attempt == event.attempt) state_.host_attempt.clear();
    Evaluation* evaluation = nullptr;
    Boot* boot = nullptr;
    if (find_attempt(event.attempt, evaluation, boot)) attempt_ended(*evaluation, *boot, event, false);
}

void Machine::on(const HostUp& event) {
    if (!state_.host_up && state_.host_lost_at > WallTime()) {
        for (auto& evaluation : state_.evaluations)
            if (evaluation.block) evaluation.block->started += now_ - state_.host_lost_at;
    }
    state_.host_up = true;
    state_.no_kvm = event.no_kvm;
    state_.no_shell = event.no_shell;
}

void Machine::on(const HostLost& event) {
    if (state_.host_up) state_.host_lost_at = now_;
    state_.host_up = false;
    state_.host_trouble = event.detail;
    if (state_.host_attempt.empty()) return;
    on(AttemptFinished{state_.host_attempt, msg::Outcome::infra_error, event.detail});
}

void Machine::on(const LookFinished& event) {
    auto* evaluation = find(event.evaluation);
    if (evaluation == nullptr || !evaluation->analysing) return;
    evaluation->analysing = false;
    if (evaluation->status != EvaluationStatus::running) return;
    if (!event.ok) return end(*evaluation, EvaluationStatus::failed, event.detail, Fault::internal);
    if (evaluation->concluding) return end(*evaluation, EvaluationStatus::done, event.detail);
    ++evaluation->looks_done;
    const bool cap = evaluation->looks_done >= static_cast<int>(evaluation->plan.looks.size());
    if (!event.decided && !cap) return;
    end(*evaluation, EvaluationStatus::done, event.detail);
}

void Machine::on(const CancelRequested& event) {
    auto* evaluation = find(event.evaluation);
    if (evaluation == nullptr || ended(evaluation->status)) return;
    end(*evaluation, EvaluationStatus::cancelled, "cancelled by request");
}

void Machine::on(const Waited& event) {
    auto* evaluation = find(event.evaluation);
    if (evaluation != nullptr && evaluation->block) evaluation->block->started += event.time;
}

void Machine::on(const Tick&) {
    for (auto& evaluation : state_.evaluations) {
        if (evaluation.status != EvaluationStatus::running && evaluation.status != EvaluationStatus::building) continue;
        const auto& limits = evaluation.plan.experiment.limits;
        if (evaluation.started && now_ >= *evaluation.started + limits.evaluation) {
            end(evaluation, EvaluationStatus::failed,
                fmt::format("limits.evaluation was reached after {} blocks{}", evaluation.blocks_complete,
                            state_.host_up ? "" : "; there is no host: " + state_.host_trouble),
                Fault::timeout);
        } else if (evaluation.block && evaluation.block->status == BlockStatus::running &&
                   evaluation.block->dispatched && state_.host_up &&
                   now_ >= evaluation.block->started + block_limit(evaluation)) {
            repeat_block(evaluation, {interrupted, "interrupted: limits.block was reached"});
        }
    }
}

void Machine::attempt_ended(Evaluation& evaluation, Boot& boot, AttemptFinished event, bool lost) {
    const bool checking = evaluation.block->number == check_block;
    if (checking && event.outcome == msg::Outcome::ok && !event.complaint.empty()) {
        // The checks themselves saw nothing, but the kernel did.
        event.outcome = msg::Outcome::workload_error;
        event.detail = "the kernel complained: " + event.complaint;
    }
    const bool over = ended(evaluation.status) || evaluation.block->status != BlockStatus::running;
    if (!over && event.outcome == msg::Outcome::cancelled) {
        // Not by us: a host that was told to stop. It is counted as what it is, also after a restart and in the report.
        event.outcome = msg::Outcome::infra_error;
        event.detail = "the host cancelled the boot unasked" + (event.detail.empty() ? "" : ": " + event.detail);
    }
    out_.transitions.emplace_back(FinishAttempt{event.attempt, event.outcome, event.detail, lost});
    boot.open_attempt.clear();
    if (over) {
        set(boot, BootStatus::done, to_string(event.outcome), event.detail);
        return;
    }
    switch (event.outcome) {
        case msg::Outcome::ok:
            out_.transitions.emplace_back(AcceptAttempt{boot.uid, event.attempt});
            evaluation.arms[static_cast<std::size_t>(boot.arm)].failures_in_a_row = 0;
            set(boot, BootStatus::done, "ok");
            if (event.exclusion && !checking) repeat_block(evaluation, *event.exclusion);
            break;
        case msg::Outcome::infra_error:
        case msg::Outcome::cancelled:
            if (lost ? ++boot.lost < max_lost : ++boot.infra_errors < max_infra_errors) {
                // 1, 2, 4, 8 ... seconds: what is missing (memory, quiet) may come back.
                if (!lost) boot.not_before = now_ + std::chrono::seconds(1 << std::min(boot.infra_errors - 1, 6));
                return set(boot, BootStatus::pending, {}, event.detail);
            }
            set(boot, BootStatus::done, to_string(event.outcome), event.detail);
            end(evaluation, EvaluationStatus::failed,
                fmt::format("{} attempts at one boot failed for want of infrastructure; the last: {}",
                            lost ? boot.lost : boot.infra_errors, event.detail),
                Fault::infra);
            break;
        case msg::Outcome::boot_failure:
        case msg::Outcome::kernel_crash:
        case msg::Outcome::hang:
        case msg::Outcome::workload_error: boot_failed(evaluation, boot, event); break;
    }
}

void Machine::boot_failed(Evaluation& evaluation, Boot& boot, const AttemptFinished& event) {
    set(boot, BootStatus::done, to_string(event.outcome), event.detail);
    auto& arm = evaluation.arms[static_cast<std::size_t>(boot.arm)];
    auto failure = fmt::format("{}: {}", to_string(event.outcome), event.detail);
    if (evaluation.block->number == check_block) {
        arm.check_failure = std::move(failure);
        return;
    }
    ++arm.failures_in_a_row;
    arm.last_failure = std::move(failure);
}

/// After the check block, when every kernel has had its turn: the debug variant of an arm that fails says more.
void Machine::stop_wrong_arms(Evaluation& evaluation) {
    const auto& plan = evaluation.plan;
    for (std::size_t i = 0; i < plan.arms.size(); ++i) {
        const auto& wrong = plan.arms[i];
        if (evaluation.arms[i].check_failure.empty()) continue;
        std::string checks;
        for (const auto& run : check_runs(plan, static_cast<int>(i)).runs)
            checks += (checks.empty() ? "" : ", ") + run.workload;
        const auto& failure = evaluation.arms[i].check_failure;
        const auto detail = fmt::format("failed its checks ({}) {}: {}", checks,
                                        wrong.role == Role::debug ? "on its debug variant" : "as it is",
                                        failure.substr(0, failure.find('\n')));
        // With a debug variant goes its arm, and with a baseline the control, which is its very image.
        const int arm = wrong.role == Role::debug ? wrong.kernel_of : static_cast<int>(i);
        for (std::size_t k = 0; k < plan.arms.size(); ++k)
            if ((k == i || kernel_owner(plan, static_cast<int>(k)) == arm) &&
                evaluation.arms[k].status == ArmStatus::ready)
                set(evaluation, static_cast<int>(k), ArmStatus::stopped, detail);
    }
}

/// Only between blocks, when every arm has had the same chances: else the order of boots would decide which of
/// several failing arms is stopped first, and which is called the worse.
void Machine::stop_failing_arms(Evaluation& evaluation) {
    for (std::size_t i = 0; i < evaluation.arms.size(); ++i) {
        auto& arm = evaluation.arms[i];
        if (arm.failures_in_a_row < max_failures_in_a_row || arm.status != ArmStatus::ready) continue;
        set(evaluation, static_cast<int>(i), ArmStatus::stopped,
            fmt::format("{} boots in a row failed; the last: {}", arm.failures_in_a_row, arm.last_failure));
    }
}

namespace {

ArmStatus status_of(const Evaluation& evaluation, const std::string& arm) {
    const auto& arms = evaluation.plan.arms;
    for (std::size_t i = 0; i < arms.size(); ++i)
        if (arms[i].name == arm) return evaluation.arms[i].status;
    return ArmStatus::failed;
}

bool usable(ArmStatus status) {
    return status != ArmStatus::failed && status != ArmStatus::stopped;
}

}  // namespace

/// A treatment was stopped for failing where its baseline does not.
bool Machine::keeps_failing(const Evaluation& evaluation) const {
    const auto& arms = evaluation.plan.arms;
    const auto sound = [&](const std::string& name) {
        for (std::size_t i = 0; i < arms.size(); ++i)
            if (arms[i].name == name)
                return evaluation.arms[i].status == ArmStatus::ready && evaluation.arms[i].failures_in_a_row == 0;
        return false;
    };
    for (std::size_t i = 0; i < arms.size(); ++i) {
        const bool treatment = arms[i].role == Role::measured && !arms[i].against.empty();
        if (treatment && evaluation.arms[i].status == ArmStatus::stopped && sound(arms[i].against)) return true;
    }
    return false;
}

/// The control is an image of the baseline: with the baseline it is lost, and no verdict can be given without it.
bool Machine::vouched(const Evaluation& evaluation) const {
    const auto& arms = evaluation.plan.arms;
    for (std::size_t i = 0; i < arms.size(); ++i)
        if (arms[i].control() && !usable(evaluation.arms[i].status) &&
            !usable(evaluation.arms[static_cast<std::size_t>(arms[i].kernel_of)].status))
            return false;
    return true;
}

/// Some arm and the one it is judged against can still be booted.
bool Machine::pair_left(const Evaluation& evaluation) const {
    const auto& arms = evaluation.plan.arms;
    for (std::size_t i = 0; i < arms.size(); ++i)
        if (arms[i].role == Role::measured && usable(evaluation.arms[i].status) && !arms[i].against.empty() &&
            usable(status_of(evaluation, arms[i].against)))
            return true;
    return false;
}

bool Machine::comparable(const Evaluation& evaluation) const {
    return pair_left(evaluation) && vouched(evaluation);
}

void Machine::nothing_left(Evaluation& evaluation, std::optional<Fault> fault) {
    const auto& arms = evaluation.plan.arms;
    const auto wrong = [&](std::size_t arm) {
        for (std::size_t i = 0; i < arms.size(); ++i)
            if (!evaluation.arms[i].check_failure.empty() &&
                (i == arm || (arms[i].role == Role::debug && arms[i].kernel_of == static_cast<int>(arm))))
                return true;
        return false;
    };
    std::string names;
    for (std::size_t i = 0; i < evaluation.arms.size(); ++i)
        if (arms[i].role == Role::measured && !usable(evaluation.arms[i].status))
            names += (names.empty() ? "" : ", ") + arms[i].name + (wrong(i) ? " failed its checks" : "");
    end(evaluation, EvaluationStatus::failed,
        fmt::format("{}; stopped or failed: {}",
                    pair_left(evaluation) ? "nothing is left that the control could vouch for, as it is the baseline's "
                                            "image and lost with it"
                                          : "nothing is left to compare",
                    names),
        fault);
}

/// No further block can be booted. A treatment that keeps failing where its baseline does not is an answer, which the
/// analysis words; everything else is none.
void Machine::conclude(Evaluation& evaluation) {
    if (!keeps_failing(evaluation)) return nothing_left(evaluation, {});
    evaluation.analysing = evaluation.concluding = true;
    command(Analyse{evaluation.uid, -1});
}

void Machine::end(Evaluation& evaluation, EvaluationStatus status, const std::string& detail,
                  std::optional<Fault> fault) {
    if (evaluation.block && evaluation.block->status == BlockStatus::running) {
        set_block(evaluation, BlockStatus::excluded, {"ended", detail});
        for (auto& boot : evaluation.block->boots) {
            if (!boot.open_attempt.empty()) command(CancelAttempt{boot.open_attempt});
            if (boot.status == BootStatus::pending) set(boot, BootStatus::done, "cancelled", detail);
        }
    }
    if (state_.builder == evaluation.uid) command(StopBuilder{});
    set(evaluation, status, detail, fault);
}

Evaluation* Machine::find(const std::string& uid) {
    for (auto& evaluation : state_.evaluations)
        if (evaluation.uid == uid) return &evaluation;
    return nullptr;
}

bool Machine::find_attempt(const std::string& attempt, Evaluation*& evaluation, Boot*& boot) {
    if (attempt.empty()) return false;
    for (auto& one : state_.evaluations) {
        if (!one.block) continue;
        for (auto& candidate : one.block->boots) {
            if (candidate.open_attempt != attempt) continue;
            evaluation = &one;
            boot = &candidate;
            return true;
        }
    }
    return false;
}

void Machine::set(Evaluation& evaluation, EvaluationStatus to, const std::string& detail, std::optional<Fault> fault) {
    out_.transitions.emplace_back(SetEvaluation{evaluation.uid, evaluation.status, to, detail, fault});
    evaluation.status = to;
}

void Machine::set(Evaluation& evaluation, int arm, ArmStatus to, const std::string& detail) {
    auto& state = evaluation.arms[static_cast<std::size_t>(arm)];
    const auto& name = evaluation.plan.arms[static_cast<std::size_t>(arm)].name;
    out_.transitions.emplace_back(SetArm{evaluation.uid, name, state.status, to, detail});
    state.status = to;
}

void Machine::set(Boot& boot, BootStatus to, const std::string& outcome, const std::string& detail) {
    out_.transitions.emplace_back(SetBoot{boot.uid, boot.status, to, outcome, detail});
    boot.status = to;
}

void Machine::set_block(Evaluation& evaluation, BlockStatus to, const Exclusion& why) {
    auto& block = *evaluation.block;
    out_.transitions.emplace_back(
        SetBlock{evaluation.uid, block.number, block.repetition, block.status, to, why.detail, why.cause});
    block.status = to;
}

void Machine::drop_finished() {
    std::erase_if(state_.evaluations, [&](const Evaluation& evaluation) {
        if (!ended(evaluation.status) || state_.builder == evaluation.uid) return false;
        if (!evaluation.block) return true;
        return std::none_of(evaluation.block->boots.begin(), evaluation.block->boots.end(),
                            [](const Boot& boot) { return !boot.open_attempt.empty(); });
    });
}

}  // namespace kab::core
