#include "daemon/coordinator/commit.h"

namespace kab {
namespace {

struct Commit {
    store::Writer& writer;
    const CommitContext& context;

    Status operator()(const core::SetEvaluation& t) const {
        return writer.set_evaluation(t.evaluation, core::to_string(t.from), core::to_string(t.to), t.detail, context.at,
                                     t.fault ? to_string(*t.fault) : "");
    }
    Status operator()(const core::SetArm& t) const {
        return writer.set_arm(t.evaluation, t.arm, core::to_string(t.from), core::to_string(t.to), t.detail,
                              context.at);
    }
    Status operator()(const core::AddBlock& t) const {
        return writer.add_block(t.evaluation, t.number, t.repetition, context.at);
    }
    Status operator()(const core::SetBlock& t) const {
        return writer.set_block(t.evaluation, t.number, t.repetition, core::to_string(t.from), core::to_string(t.to),
                                t.detail, t.cause, context.at);
    }
    Status operator()(const core::AddBoot& t) const {
        return writer.add_boot(t.evaluation, t.number, t.repetition, t.arm, t.position, t.uid, context.at);
    }
    Status operator()(const core::SetBoot& t) const {
        return writer.set_boot(t.uid, core::to_string(t.from), core::to_string(t.to), t.outcome, t.detail, context.at);
    }
    Status operator()(const core::SealPlan& t) const {
        return writer.seal_plan(t.evaluation, context.plan_hash(t.evaluation));
    }
    Status operator()(const core::AddAttempt& t) const {
        return writer.add_attempt(t.boot, t.uid, t.number, context.host, context.at);
    }
    Status operator()(const core::FinishAttempt& t) const {
        AttemptReport report;
        if (const auto found = context.reports.find(t.uid); found != context.reports.end()) report = found->second;
        report.end.outcome = msg::to_string(t.outcome);
        report.end.detail = t.detail;
        report.end.lost = t.lost;
        return writer.finish_attempt(t.uid, report.end, report.events, context.at);
    }
    Status operator()(const core::AcceptAttempt& t) const { return writer.accept_attempt(t.boot, t.attempt); }
};

}  // namespace

Status commit_transitions(store::Writer& writer, const std::vector<core::Transition>& transitions,
                          const CommitContext& context) {
    const Commit commit{writer, context};
    for (const auto& transition : transitions)
        if (auto status = std::visit(commit, transition); !status) return status;
    return {};
}

}  // namespace kab
