// Life of the coordinator, what the API asks. What the host tells: host_events.cpp; commands: commands.cpp.
#include "daemon/coordinator/coordinator.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "daemon/coordinator/restore.h"
#include "daemon/coordinator/submit.h"
#include "daemon/fault/fault_point.h"
#include "daemon/spec/experiment_json.h"

namespace kab {

Coordinator::Coordinator(Parts parts)
    : parts_(std::move(parts)),
      uids_(*parts_.clock),
      inputs_(parts_.paths.state),
      deadline_(parts_.executor),
      lock_timer_(parts_.executor) {
    pool_.emplace(1);
}

Coordinator::~Coordinator() {
    stop();
}

Status Coordinator::start() {
    auto rows = parts_.store->unfinished_evaluations();
    if (!rows) return pass(rows);
    bool all_taken = true;
    for (const auto& row : *rows) {
        const auto taken = take_up(row);
        if (taken) continue;
        // A disk that cannot be read says nothing of the evaluation.
        if (const auto fault = taken.error().fault; fault == Fault::io || fault == Fault::timeout) return taken;
        all_taken = false;
        // One that this version cannot go on with must not keep all others from being run.
        spdlog::error("evaluation {} cannot be taken up: {}", row.uid, taken.error().text());
        const auto at = parts_.clock->wall().time_since_epoch().count();
        const auto detail = "cannot be taken up again, run it anew: " + taken.error().text();
        auto closed = parts_.store->write([&](store::Writer& writer) {
            return writer.set_evaluation(row.uid, row.status, "failed", detail, at, to_string(taken.error().fault));
        });
        if (!closed) return closed;
    }
    std::vector<std::string> uids;
    for (const auto& evaluation : state_.evaluations) uids.push_back(evaluation.uid);
    fault_point("start.read");
    inputs_.sweep(uids);
    fault_point("start.inputs-swept");
    handle(core::Restarted{});
    if (fatal_) return tl::unexpected(*fatal_);
    fault_point("start.taken-up");
    // The open attempts of one that was not taken up have no row for their consoles, which are not to be lost for that.
    if (all_taken)
        if (auto swept = sweep_artifacts(); !swept) return swept;
    fault_point("start.swept");
    parts_.host->start(*this);
    return {};
}

Status Coordinator::take_up(const store::EvaluationRow& row) {
    auto tree = parts_.store->tree(row.uid);
    if (!tree) return pass(tree);
    auto evaluation = restore_evaluation(*tree);
    if (!evaluation) return pass(evaluation);
    auto kernels = parts_.store->kernels_of(row.uid);
    if (!kernels) return pass(kernels);
    for (std::size_t i = 0; i < kernels->size() && kernels->size() == tree->arms.size(); ++i)
        kernels_[row.uid][static_cast<int>(i)] = (*kernels)[i];
    for (const auto& attempt : tree->attempts)
        if (!attempt.accel.empty()) accel_.emplace(row.uid, attempt.accel);
    if (const auto& hash = tree->evaluation.plan_hash; !hash.empty())
        sealed_[row.uid] = SealedPlan{hash, {}, {}, accel_.contains(row.uid)};
    spdlog::info("evaluation {} ({}) is taken up again: {}", row.uid, row.experiment, row.status);
    state_.evaluations.push_back(std::move(*evaluation));
    return {};
}

/// Consoles whose row was never written, of attempts that were cut off. Call when no attempt is open.
Status Coordinator::sweep_artifacts() {
    auto known = parts_.store->artifact_paths();
    if (!known) return pass(known);
    const auto root = parts_.paths.artifacts();
    std::error_code ignored;  // what cannot be removed now is tried again at the next start
    for (const auto& folder : fs::directory_iterator(root, ignored)) {
        if (!folder.is_directory(ignored)) continue;
        for (const auto& file : fs::directory_iterator(folder.path(), ignored)) {
            if (known->contains(fs::relative(file.path(), root, ignored).string())) continue;
            spdlog::info("{} belongs to no attempt and is removed", file.path().string());
            fs::remove(file.path(), ignored);
        }
    }
    return {};
}

void Coordinator::stop() {
    if (stopped_) return;
    stopped_ = true;
    *alive_ = false;
    deadline_.cancel();
    lock_timer_.cancel();
    lock_queue_.reset();
    waiting_attempt_.clear();
    parts_.host->stop();
    lock_.reset();
    parts_.builder->stop();
    pool_->join();
}

void Coordinator::clock_moved() {
    handle(core::Tick{});
}

Result<std::string> Coordinator::submit(const Submission& submission) {
    if (fatal_) return tl::unexpected(*fatal_);
    if (stopped_) return fail(Fault::conflict, "the daemon is stopping");
    if (!submission.idempotency_key.empty()) {
        auto known = parts_.store->evaluation_of_key(submission.idempotency_key);
        if (!known) return pass(known);
        if (*known) return **known;
    }
    auto experiment = experiment_from_json(submission.experiment);
    if (!experiment) return pass(experiment);
    const auto seed = experiment->decide.seed ? *experiment->decide.seed : random_seed();

    core::Submitted event;
    auto& evaluation = event.evaluation;
    evaluation.uid = uids_.next();
    evaluation.plan = make_plan(*experiment, seed);
    evaluation.arms.resize(evaluation.plan.arms.size());
    if (auto copied = inputs_.materialise(evaluation.uid, submission.inputs); !copied) {
        inputs_.remove(evaluation.uid);
        return pass(copied);
    }
    fault_point("submit.inputs-written");
    auto row = new_evaluation(evaluation.uid, submission, evaluation.plan, to_json(*experiment));
    const auto uid = evaluation.uid;
    const auto now = parts_.clock->wall().time_since_epoch().count();
    handle(event, [&](store::Writer& writer) { return writer.add_evaluation(row, now); });
    if (fatal_) return tl::unexpected(*fatal_);
    fault_point("submit.stored");
    return uid;
}

Status Coordinator::cancel(const std::string& uid) {
    if (find(uid) == nullptr) {
        auto row = parts_.store->find_evaluation(uid);
        if (!row) return pass(row);
        return fail(Fault::conflict, "evaluation {} has already ended ({})", uid, row->status);
    }
    handle(core::CancelRequested{uid});
    return {};
}

Status Coordinator::put_blob(const std::string& sha256, const std::string& bytes) {
    return inputs_.put(sha256, bytes);
}

bool Coordinator::has_blob(const std::string& sha256) const {
    return inputs_.has(sha256);
}

std::vector<ProgressEvent> Coordinator::progress() const {
    std::vector<ProgressEvent> all;
    for (const auto& [uid, event] : progress_) all.push_back(event);
    return all;
}

bool Coordinator::busy(const std::string& uid) const {
    return std::any_of(state_.evaluations.begin(), state_.evaluations.end(),
                       [&](const core::Evaluation& evaluation) { return evaluation.uid == uid; });
}

bool Coordinator::idle() const {
    return state_.evaluations.empty();
}

void Coordinator::add_listener(Listener* listener) {
    listeners_.insert(listener);
}
void Coordinator::remove_listener(Listener* listener) {
    listeners_.erase(listener);
}

std::string Coordinator::seal(const std::string& uid) {
    const auto* evaluation = find(uid);
    if (evaluation == nullptr) return {};
    const auto hash = plan_hash_with(*evaluation, parts_.agent_hash, shell_hash_);
    sealed_[uid] = SealedPlan{hash, parts_.agent_hash, shell_hash_, false};
    return hash;
}

std::string Coordinator::plan_hash_with(const core::Evaluation& evaluation, const std::string& agent,
                                        const std::string& shell) {
    std::vector<std::string> kernel_keys;
    for (const auto& [arm, kernel] : kernels_[evaluation.uid]) kernel_keys.push_back(kernel.key);
    return plan_hash(evaluation.plan, kernel_keys, agent, emulator_, shell);
}

core::Evaluation* Coordinator::find(const std::string& uid) {
    for (auto& evaluation : state_.evaluations)
        if (evaluation.uid == uid) return &evaluation;
    return nullptr;
}

core::Evaluation* Coordinator::find_by_attempt(const std::string& attempt, core::Boot*& boot) {
    for (auto& evaluation : state_.evaluations) {
        if (!evaluation.block) continue;
        for (auto& candidate : evaluation.block->boots) {
            if (candidate.open_attempt != attempt) continue;
            boot = &candidate;
            return &evaluation;
        }
    }
    return nullptr;
}

}  // namespace kab
