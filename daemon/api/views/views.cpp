#include "daemon/api/views/views.h"

#include <map>

namespace kab::api {
namespace {

constexpr int transitions_shown = 12;

template <class Row>
Result<std::vector<decltype(view_of(std::declval<const Row&>()))>> view_all(const Result<std::vector<Row>>& rows) {
    if (!rows) return pass(rows);
    std::vector<decltype(view_of(std::declval<const Row&>()))> views;
    views.reserve(rows->size());
    for (const auto& row : *rows) views.push_back(view_of(row));
    return views;
}

void add_arms(EvaluationDetail& detail, const store::EvaluationTree& tree,
              const std::vector<store::KernelRow>& kernels) {
    for (const auto& row : tree.arms) {
        Arm arm;
        arm.name = row.name;
        arm.against = row.against;
        arm.status = row.status;
        arm.detail = row.detail;
        arm.control = row.control;
        for (const auto& kernel : kernels) {
            if (row.kernel_id != kernel.id) continue;
            arm.kernel_key = kernel.key;
            arm.kernel_release = kernel.release;
            arm.code_signature = kernel.code_signature;
        }
        for (const auto& boot : tree.boots) {
            if (boot.arm != row.name || boot.outcome.empty()) continue;
            if (boot.outcome == "ok") ++arm.boots_ok;
            if (boot.outcome != "ok" && boot.outcome != "cancelled") ++arm.boots_failed;
        }
        detail.arms.push_back(std::move(arm));
    }
}

void add_blocks(EvaluationDetail& detail, const store::EvaluationTree& tree) {
    std::map<std::int64_t, Block> blocks;
    for (const auto& boot : tree.boots) {
        auto& block = blocks[boot.block_id];
        ++block.boots;
        if (!boot.outcome.empty()) ++block.boots_done;
    }
    for (const auto& row : tree.blocks) {
        auto block = blocks[row.id];
        block.number = row.number;
        block.repetition = row.repetition;
        block.status = row.status;
        block.detail = row.detail;
        if (row.status == "complete" && row.number > 0) ++detail.blocks_done;  // 0: the checks
        detail.blocks.push_back(std::move(block));
    }
}

/// Attempts that say nothing about the kernel. Those that were lost with a daemon are no news to anybody.
void add_retries(EvaluationDetail& detail, const store::EvaluationTree& tree) {
    std::map<std::int64_t, const store::BootRow*> boots;
    std::map<std::int64_t, std::int64_t> blocks;
    for (const auto& boot : tree.boots) boots[boot.id] = &boot;
    for (const auto& block : tree.blocks) blocks[block.id] = block.number;
    for (const auto& attempt : tree.attempts) {
        if (attempt.lost || (attempt.outcome != "infra-error" && attempt.outcome != "cancelled")) continue;
        const auto& boot = *boots.at(attempt.boot_id);
        const bool last = boot.status == "done" && boot.outcome == attempt.outcome;
        if (!last)
            detail.retries.push_back({boot.uid, blocks[boot.block_id], boot.arm, attempt.outcome, attempt.detail, ""});
    }
}

}  // namespace

Evaluation view_of(const store::EvaluationRow& row) {
    Evaluation evaluation;
    evaluation.uid = row.uid;
    evaluation.experiment = row.experiment;
    evaluation.question = row.question;
    evaluation.status = row.status;
    evaluation.detail = row.detail;
    evaluation.fault = row.fault;
    evaluation.verdict = row.verdict;
    evaluation.looks_done = row.looks_done;
    evaluation.created_at = row.created_at;
    evaluation.started_at = row.started_at;
    evaluation.finished_at = row.finished_at;
    return evaluation;
}

Kernel view_of(const store::KernelRow& row) {
    Kernel kernel;
    kernel.key = row.key;
    kernel.origin = row.origin;
    kernel.release = row.release;
    kernel.base_commit = row.base_commit;
    kernel.code_signature = row.code_signature;
    kernel.format = row.format;
    kernel.path = row.path;
    kernel.compiler = row.compiler;
    kernel.wall_ns = row.wall_ns;
    kernel.cpu_ns = row.cpu_ns;
    kernel.objects = row.objects;
    kernel.built_at = row.built_at;
    return kernel;
}

Host view_of(const store::HostRow& row) {
    Host host;
    host.name = row.name;
    host.uid = row.uid;
    host.kind = row.kind;
    host.status = row.status;
    host.last_seen_at = row.last_seen_at;
    if (auto properties = parse_json(row.properties)) host.properties = std::move(*properties);
    return host;
}

Transition view_of(const store::TransitionRow& row) {
    return {row.seq, row.at, row.evaluation, row.object, row.name, row.from, row.to, row.detail};
}

Result<std::vector<Evaluation>> list_evaluations(const store::Store& store) {
    return view_all(store.evaluations());
}

Result<EvaluationDetail> show_evaluation(const store::Store& store, const std::string& name) {
    const auto found = store.find_evaluation(name);
    if (!found) return pass(found);
    EvaluationDetail detail;
    // Before the rest: a transition after this one may show in the rest already, but none is missed.
    const auto last_seq = store.last_seq();
    if (!last_seq) return pass(last_seq);
    detail.last_seq = *last_seq;
    const auto tree = store.tree(found->uid);
    if (!tree) return pass(tree);
    const auto kernels = store.kernels_of(found->uid);
    if (!kernels) return pass(kernels);
    const auto boots = store.boots(found->uid);
    if (!boots) return pass(boots);
    auto transitions = view_all(store.last_transitions(found->uid, transitions_shown));
    if (!transitions) return pass(transitions);

    detail.evaluation = view_of(tree->evaluation);
    add_arms(detail, *tree, *kernels);
    add_blocks(detail, *tree);
    add_retries(detail, *tree);
    for (const auto& boot : *boots)
        if (boot.outcome != "ok" && boot.outcome != "cancelled")
            detail.failures.push_back({boot.uid, boot.block, boot.arm, boot.outcome, boot.detail, boot.console_path});
    detail.transitions = std::move(*transitions);
    return detail;
}

Result<std::vector<Kernel>> list_kernels(const store::Store& store) {
    return view_all(store.kernels());
}

Result<std::vector<Host>> list_hosts(const store::Store& store) {
    return view_all(store.hosts());
}

}  // namespace kab::api
