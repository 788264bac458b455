#include "daemon/coordinator/core/step.h"

#include <algorithm>
#include <cassert>

#include "daemon/coordinator/core/machine.h"

namespace kab::core {

const char* to_string(EvaluationStatus status) {
    switch (status) {
        case EvaluationStatus::queued: return "queued";
        case EvaluationStatus::freezing: return "freezing";
        case EvaluationStatus::building: return "building";
        case EvaluationStatus::running: return "running";
        case EvaluationStatus::done: return "done";
        case EvaluationStatus::failed: return "failed";
        case EvaluationStatus::cancelled: return "cancelled";
    }
    return "failed";
}

const char* to_string(ArmStatus status) {
    switch (status) {
        case ArmStatus::pending: return "pending";
        case ArmStatus::building: return "building";
        case ArmStatus::ready: return "ready";
        case ArmStatus::failed: return "failed";
        case ArmStatus::stopped: return "stopped";
    }
    return "failed";
}

const char* to_string(BlockStatus status) {
    switch (status) {
        case BlockStatus::running: return "running";
        case BlockStatus::complete: return "complete";
        case BlockStatus::excluded: return "excluded";
    }
    return "excluded";
}

const char* to_string(BootStatus status) {
    switch (status) {
        case BootStatus::pending: return "pending";
        case BootStatus::running: return "running";
        case BootStatus::done: return "done";
    }
    return "done";
}

Nanoseconds block_limit(const Evaluation& evaluation) {
    const auto limit = evaluation.plan.experiment.limits.block;
    return evaluation.block && evaluation.block->number == check_block ? debug_patience * limit : limit;
}

int noisy_tries(const Block& block) {
    int tries = 0;
    for (const auto& [cause, times] : block.excluded)
        if (cause != interrupted) tries += times;
    return tries;
}

Nanoseconds pause_after(int noisy) {
    return noisy == 0 ? Nanoseconds(0) : Nanoseconds(std::chrono::seconds(1LL << std::min(noisy, max_noisy)));
}

Step step(State& state, const Event& event, WallTime now, const std::function<std::string()>& new_uid) {
    Machine machine(state, now, new_uid);
    std::visit([&](const auto& one) { machine.on(one); }, event);
    machine.advance();
    return machine.take();
}

std::optional<WallTime> next_deadline(const State& state) {
    std::optional<WallTime> next;
    const auto sooner = [&](WallTime time) {
        if (!next || time < *next) next = time;
    };
    for (const auto& evaluation : state.evaluations) {
        const auto& limits = evaluation.plan.experiment.limits;
        if (evaluation.status != EvaluationStatus::running && evaluation.status != EvaluationStatus::building) continue;
        if (evaluation.started) sooner(*evaluation.started + limits.evaluation);
        if (!evaluation.block || evaluation.block->status != BlockStatus::running || !state.host_up) continue;
        if (evaluation.block->dispatched) sooner(evaluation.block->started + block_limit(evaluation));
        for (const auto& boot : evaluation.block->boots)
            if (boot.status == BootStatus::pending && boot.not_before > WallTime()) sooner(boot.not_before);
    }
    return next;
}

}  // namespace kab::core
