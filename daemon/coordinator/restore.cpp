#include "daemon/coordinator/restore.h"

#include <algorithm>
#include <map>
#include <set>

#include "daemon/spec/experiment_json.h"

namespace kab {
namespace {

template <class Status>
Result<Status> parse_status(const std::string& text, std::initializer_list<Status> all) {
    for (const auto status : all)
        if (text == core::to_string(status)) return status;
    return fail(Fault::internal, "unknown status '{}' in the database", text);
}

WallTime wall(std::int64_t nanoseconds) {
    return WallTime(Nanoseconds(nanoseconds));
}

Status restore_arms(const store::EvaluationTree& tree, core::Evaluation& evaluation) {
    using S = core::ArmStatus;
    if (tree.arms.size() != evaluation.plan.arms.size())
        return fail(Fault::internal, "evaluation {}: {} arms stored, {} planned", evaluation.uid, tree.arms.size(),
                    evaluation.plan.arms.size());
    evaluation.frozen = true;
    for (const auto& row : tree.arms) {
        auto status = parse_status<S>(row.status, {S::pending, S::building, S::ready, S::failed, S::stopped});
        if (!status) return pass(status);
        evaluation.arms.push_back({*status, 0, {}, {}});
        evaluation.frozen = evaluation.frozen && row.kernel_id.has_value();
    }
    return {};
}

int arm_index(const core::Evaluation& evaluation, const std::string& name) {
    const auto& arms = evaluation.plan.arms;
    const auto found = std::find_if(arms.begin(), arms.end(), [&](const PlannedArm& arm) { return arm.name == name; });
    return static_cast<int>(found - arms.begin());
}

/// Failures in a row and of checks, as the boots before the present one left them.
void restore_failures(const store::EvaluationTree& tree, core::Evaluation& evaluation) {
    std::set<std::int64_t> check_boots;  // row ids of the check block's tries
    for (const auto& block : tree.blocks)
        if (block.number == check_block) check_boots.insert(block.id);
    for (const auto& boot : tree.boots) {
        const auto arm = static_cast<std::size_t>(arm_index(evaluation, boot.arm));
        if (arm >= evaluation.arms.size() || boot.status != "done") continue;
        const auto outcome = msg::parse_outcome(boot.outcome);
        if (!outcome) continue;
        const bool check = check_boots.contains(boot.block_id);
        if (*outcome == msg::Outcome::ok && !check) evaluation.arms[arm].failures_in_a_row = 0;
        const bool fault = *outcome == msg::Outcome::boot_failure || *outcome == msg::Outcome::kernel_crash ||
                           *outcome == msg::Outcome::hang || *outcome == msg::Outcome::workload_error;
        if (!fault) continue;
        if (check) {
            evaluation.arms[arm].check_failure = boot.outcome + ": " + boot.detail;
            continue;
        }
        ++evaluation.arms[arm].failures_in_a_row;
        evaluation.arms[arm].last_failure = boot.outcome + ": " + boot.detail;
    }
}

Result<core::Boot> restore_boot(const store::EvaluationTree& tree, const store::BootRow& row, int arm) {
    using S = core::BootStatus;
    auto status = parse_status<S>(row.status, {S::pending, S::running, S::done});
    if (!status) return pass(status);
    core::Boot boot;
    boot.uid = row.uid;
    boot.arm = arm;
    boot.position = static_cast<int>(row.position);
    boot.status = *status;
    for (const auto& attempt : tree.attempts) {
        if (attempt.boot_id != row.id) continue;
        ++boot.attempts;
        if (attempt.status == "dispatched") boot.open_attempt = attempt.uid;
        if (attempt.lost)
            ++boot.lost;
        else if (attempt.outcome == msg::to_string(msg::Outcome::infra_error))
            ++boot.infra_errors;
    }
    return boot;
}

/// Earlier tries at the block, and the pause that the last of them asked for.
void restore_exclusions(const store::EvaluationTree& tree, core::Block& block) {
    const store::BlockRow* last = nullptr;
    for (const auto& row : tree.blocks) {
        if (row.number != block.number || row.repetition >= block.repetition) continue;
        ++block.excluded[row.cause];
        last = &row;
    }
    if (last == nullptr || last->cause == core::interrupted || !last->finished_at || block.boots.empty()) return;
    block.boots.front().not_before = wall(*last->finished_at) + core::pause_after(core::noisy_tries(block));
}

}  // namespace

Result<core::Evaluation> restore_evaluation(const store::EvaluationTree& tree) {
    using S = core::EvaluationStatus;
    const auto& row = tree.evaluation;
    auto json = parse_json(row.experiment_json);
    if (!json) return pass(json);
    auto experiment = experiment_from_json(*json);
    if (!experiment) return pass(experiment);
    auto status = parse_status<S>(row.status,
                                  {S::queued, S::freezing, S::building, S::running, S::done, S::failed, S::cancelled});
    if (!status) return pass(status);

    core::Evaluation evaluation;
    evaluation.uid = row.uid;
    evaluation.status = *status;
    evaluation.plan = make_plan(*experiment, row.seed);
    if (canonical_text(evaluation.plan) != row.plan_text)
        return fail(Fault::conflict, "its plan was made by another version of kab");
    evaluation.sealed = !row.plan_hash.empty();
    evaluation.looks_done = static_cast<int>(row.looks_done);
    if (row.started_at) evaluation.started = wall(*row.started_at);
    if (auto arms = restore_arms(tree, evaluation); !arms) return pass(arms);

    for (const auto& block : tree.blocks) {
        if (block.status == core::to_string(core::BlockStatus::complete) && block.number != check_block)
            ++evaluation.blocks_complete;
        core::Block present;
        present.number = static_cast<int>(block.number);
        present.repetition = static_cast<int>(block.repetition);
        present.started = wall(block.started_at);
        using B = core::BlockStatus;
        auto block_status = parse_status<B>(block.status, {B::running, B::complete, B::excluded});
        if (!block_status) return pass(block_status);
        present.status = *block_status;
        for (const auto& boot_row : tree.boots) {
            if (boot_row.block_id != block.id) continue;
            auto boot = restore_boot(tree, boot_row, arm_index(evaluation, boot_row.arm));
            if (!boot) return pass(boot);
            present.boots.push_back(*boot);
        }
        restore_exclusions(tree, present);
        evaluation.block = std::move(present);  // the last one is the present one
    }
    restore_failures(tree, evaluation);
    return evaluation;
}

}  // namespace kab
