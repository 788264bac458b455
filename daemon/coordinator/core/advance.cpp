// Scheduling: what can be started now. One evaluation at a time builds and boots (two at once would
// disturb each other's measurements); inputs are frozen at once, whoever's turn it is.
#include <algorithm>
#include <cassert>

#include "common/workload_catalog.h"
#include "daemon/coordinator/core/machine.h"

namespace kab::core {

void Machine::advance() {
    refuse_without_kvm();
    refuse_without_shell();
    drop_finished();
    advance_freezing();
    // Ending one evaluation lets the next begin, so go on until nothing moves.
    for (auto* evaluation = active(); evaluation != nullptr; evaluation = active()) {
        const auto before = evaluation->status;
        if (before == EvaluationStatus::building) advance_building(*evaluation);
        if (evaluation->status == EvaluationStatus::running) advance_running(*evaluation);
        if (evaluation->status == before || evaluation->status == EvaluationStatus::running) break;
        drop_finished();
    }
    drop_finished();
}

/// What needs KVM is not built on a machine that has none.
void Machine::refuse_without_kvm() {
    if (!state_.host_up || state_.no_kvm.empty()) return;
    for (auto& evaluation : state_.evaluations) {
        if (evaluation.plan.experiment.host.accel != HostSpec::Accel::kvm || ended(evaluation.status)) continue;
        end(evaluation, EvaluationStatus::failed, "host.accel is kvm, but " + state_.no_kvm, Fault::infra);
    }
}

void Machine::refuse_without_shell() {
    if (!state_.host_up || state_.no_shell.empty()) return;
    for (auto& evaluation : state_.evaluations) {
        if (ended(evaluation.status)) continue;
        for (const auto& spec : evaluation.plan.experiment.workloads) {
            const auto* info = find_workload(spec.workload);
            if (info == nullptr || !info->needs_shell) continue;
            end(evaluation, EvaluationStatus::failed,
                fmt::format("workload {} needs a shell in the guest: {}", spec.workload, state_.no_shell),
                Fault::infra);
            break;
        }
    }
}

void Machine::advance_freezing() {
    if (!state_.builder.empty()) return;
    for (auto& evaluation : state_.evaluations) {
        if (evaluation.status != EvaluationStatus::queued || evaluation.frozen) continue;
        set(evaluation, EvaluationStatus::freezing);
        state_.builder = evaluation.uid;
        command(Freeze{evaluation.uid});
        return;
    }
}

Evaluation* Machine::active() {
    for (auto& evaluation : state_.evaluations)
        if (evaluation.status == EvaluationStatus::building || evaluation.status == EvaluationStatus::running)
            return &evaluation;
    for (auto& evaluation : state_.evaluations) {
        if (evaluation.status != EvaluationStatus::queued || !evaluation.frozen) continue;
        set(evaluation, EvaluationStatus::building);
        evaluation.started = now_;
        return &evaluation;
    }
    return nullptr;
}

void Machine::advance_building(Evaluation& evaluation) {
    if (!state_.builder.empty()) return;
    for (std::size_t i = 0; i < evaluation.arms.size(); ++i) {
        if (evaluation.arms[i].status != ArmStatus::pending) continue;
        set(evaluation, static_cast<int>(i), ArmStatus::building);
        state_.builder = evaluation.uid;
        command(Build{evaluation.uid, static_cast<int>(i)});
        return;
    }
    set(evaluation, EvaluationStatus::running, "all kernels are built");
}

namespace {

/// Some kernel that was built has a check to run.
bool has_checks(const Evaluation& evaluation) {
    const auto order = block_order(evaluation.plan, check_block);
    return std::any_of(order.begin(), order.end(), [&](int arm) {
        return evaluation.arms[static_cast<std::size_t>(arm)].status == ArmStatus::ready;
    });
}

}  // namespace

void Machine::advance_running(Evaluation& evaluation) {
    if (evaluation.analysing) return;
    if (!evaluation.block) {
        start_block(evaluation, has_checks(evaluation) ? check_block : evaluation.blocks_complete + 1, 1);
    } else if (evaluation.block->status == BlockStatus::running) {
        const auto& boots = evaluation.block->boots;
        if (std::all_of(boots.begin(), boots.end(), [](const Boot& b) { return b.status == BootStatus::done; }))
            finish_block(evaluation);
    }
    if (evaluation.analysing || evaluation.status != EvaluationStatus::running) return;
    if (evaluation.block->status == BlockStatus::complete) {
        const auto look = static_cast<std::size_t>(evaluation.looks_done);
        if (look < evaluation.plan.looks.size() && evaluation.blocks_complete == evaluation.plan.looks[look]) {
            evaluation.analysing = true;
            command(Analyse{evaluation.uid, evaluation.looks_done});
            return;
        }
        if (!comparable(evaluation)) return conclude(evaluation);
        start_block(evaluation, evaluation.blocks_complete + 1, 1);
    }
    dispatch_next(evaluation);
}

void Machine::start_block(Evaluation& evaluation, int number, int repetition) {
    Block block;
    block.number = number;
    block.repetition = repetition;
    block.started = now_;
    out_.transitions.emplace_back(AddBlock{evaluation.uid, number, repetition});
    int position = 0;
    for (const int arm : block_order(evaluation.plan, number)) {
        if (evaluation.arms[static_cast<std::size_t>(arm)].status != ArmStatus::ready) continue;
        Boot boot;
        boot.uid = new_uid_();
        boot.arm = arm;
        boot.position = ++position;
        out_.transitions.emplace_back(AddBoot{evaluation.uid, number, repetition,
                                              evaluation.plan.arms[static_cast<std::size_t>(arm)].name, position,
                                              boot.uid});
        block.boots.push_back(boot);
    }
    evaluation.block = std::move(block);
}

void Machine::dispatch_next(Evaluation& evaluation) {
    if (!state_.host_up || !state_.host_attempt.empty()) return;
    for (auto& boot : evaluation.block->boots) {
        if (boot.status != BootStatus::pending) continue;
        if (boot.not_before > now_) return;  // the order of the block stays
        if (!evaluation.block->dispatched) evaluation.block->started = now_;
        evaluation.block->dispatched = true;
        if (!evaluation.sealed) out_.transitions.emplace_back(SealPlan{evaluation.uid});
        evaluation.sealed = true;
        const std::string attempt = new_uid_();
        boot.open_attempt = attempt;
        ++boot.attempts;
        set(boot, BootStatus::running);
        out_.transitions.emplace_back(AddAttempt{boot.uid, attempt, boot.attempts});
        state_.host_attempt = attempt;
        command(Dispatch{evaluation.uid, boot.uid, attempt, evaluation.block->number, boot.arm});
        return;
    }
}

void Machine::finish_block(Evaluation& evaluation) {
    set_block(evaluation, BlockStatus::complete);
    if (evaluation.block->number == check_block) return stop_wrong_arms(evaluation);
    ++evaluation.blocks_complete;
    stop_failing_arms(evaluation);
}

void Machine::repeat_block(Evaluation& evaluation, const Exclusion& why) {
    const int number = evaluation.block->number;
    const int repetition = evaluation.block->repetition;
    // The open attempt's boot must stay known until the host lets go of it.
    for (auto& boot : evaluation.block->boots) {
        if (boot.open_attempt.empty()) continue;
        out_.transitions.emplace_back(FinishAttempt{boot.open_attempt, msg::Outcome::cancelled, why.detail, false});
        command(CancelAttempt{boot.open_attempt});
        boot.open_attempt.clear();
    }
    for (auto& boot : evaluation.block->boots)
        if (boot.status != BootStatus::done) set(boot, BootStatus::done, "cancelled", why.detail);
    set_block(evaluation, BlockStatus::excluded, why);
    auto excluded = evaluation.block->excluded;
    const int times = ++excluded[why.cause];
    evaluation.block->excluded = excluded;
    const int noisy = noisy_tries(*evaluation.block);
    if (why.cause == interrupted ? times >= max_interruptions : noisy >= max_noisy)
        return excluded_too_often(evaluation, why);
    start_block(evaluation, number, repetition + 1);
    evaluation.block->excluded = std::move(excluded);
    if (why.cause != interrupted) evaluation.block->boots.front().not_before = now_ + pause_after(noisy);
}

void Machine::excluded_too_often(Evaluation& evaluation, const Exclusion& last) {
    const auto& block = *evaluation.block;
    if (last.cause == interrupted) {
        return end(
            evaluation, EvaluationStatus::failed,
            fmt::format("{} was interrupted {} times, as it takes longer than limits.block{}: raise it",
                        block.number == check_block ? "the check block" : fmt::format("block {}", block.number),
                        max_interruptions, block.number == check_block ? fmt::format(" times {}", debug_patience) : ""),
            Fault::timeout);
    }
    std::string causes;
    for (const auto& [cause, times] : block.excluded)
        if (cause != interrupted) causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", cause, times);
    const auto remedy = last.cause == "throttled"
                            ? "is too hot for the experiment: cool it, or leave out exclude.throttled"
                            : "is too busy for the experiment: quiet it, or raise exclude." + last.cause;
    end(evaluation, EvaluationStatus::failed,
        fmt::format("block {} was excluded {} times ({}); the last: {}. This machine {}", block.number, max_noisy,
                    causes, last.detail, remedy),
        Fault::infra);
}

}  // namespace kab::core
