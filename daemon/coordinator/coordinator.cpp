// Life of the coordinator, what the API asks, what the host tells. Commands: commands.cpp.
#include "daemon/coordinator/coordinator.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "common/digest/sha256.h"
#include "daemon/coordinator/exclusion.h"
#include "daemon/coordinator/restore.h"
#include "daemon/coordinator/submit.h"
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
    inputs_.sweep(uids);
    handle(core::Restarted{});
    if (fatal_) return tl::unexpected(*fatal_);
    // The open attempts of one that was not taken up have no row for their consoles, which are not to be lost for that.
    if (all_taken)
        if (auto swept = sweep_artifacts(); !swept) return swept;
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
    auto row = new_evaluation(evaluation.uid, submission, evaluation.plan, to_json(*experiment));
    const auto uid = evaluation.uid;
    const auto now = parts_.clock->wall().time_since_epoch().count();
    handle(event, [&](store::Writer& writer) { return writer.add_evaluation(row, now); });
    if (fatal_) return tl::unexpected(*fatal_);
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

// ---- the host ----

void Coordinator::host_up(const msg::Hello& hello) {
    const auto qemu = hello.properties.find("qemu");
    emulator_ = qemu == hello.properties.end() ? "" : qemu->second;
    const auto shell = hello.properties.find("shell_sha256");
    shell_hash_ = shell == hello.properties.end() ? "" : shell->second;
    Json properties = hello.properties;
    properties["build"] = hello.build;
    store::HostRow row{
        host_name_, host_name_, "qemu", "up", dump_json(properties), parts_.clock->wall().time_since_epoch().count()};
    spdlog::info("host {} is up: {}", host_name_, row.properties);
    const auto kvm = hello.properties.find("kvm");
    const auto no_kvm = kvm == hello.properties.end() || kvm->second == "yes" ? "" : kvm->second;
    const auto no_shell = hello.properties.find("no_shell");
    const core::HostUp up{no_kvm, no_shell == hello.properties.end() ? "" : no_shell->second};
    handle(up, [&](store::Writer& writer) { return writer.set_host(row); });
}

void Coordinator::host_lost(const std::string& detail) {
    spdlog::warn("host {} is lost: {}", host_name_, detail);
    lock_.reset();
    lock_timer_.cancel();
    lock_queue_.reset();
    waiting_attempt_.clear();
    refused_.clear();
    store::HostRow row{host_name_,
                       host_name_,
                       "qemu",
                       "down",
                       dump_json(Json{{"detail", detail}}),
                       parts_.clock->wall().time_since_epoch().count()};
    handle(core::HostLost{detail}, [&](store::Writer& writer) { return writer.set_host(row); });
}

void Coordinator::boot_progress(const msg::BootProgress& progress) {
    core::Boot* boot = nullptr;
    const auto* evaluation = find_by_attempt(progress.attempt, boot);
    if (evaluation == nullptr) return;
    const auto outlook = pace_.outlook(*evaluation);
    ProgressEvent event;
    event.evaluation = evaluation->uid;
    event.phase = evaluation->block->number == check_block ? "check" : "boot";
    event.arm = evaluation->plan.arms[static_cast<std::size_t>(boot->arm)].name;
    event.step = progress.phase;
    event.done = progress.done;
    event.total = progress.total;
    event.block = outlook.block;
    event.blocks = outlook.blocks;
    event.boot = outlook.boots_done;
    event.boots = outlook.boots;
    event.left_ns = outlook.left.count();
    report_progress(event);
}

void Coordinator::boot_hello(const msg::BootHello& hello) {
    const auto& agent = hello.agent;
    const Json environment{{"release", agent.release},
                           {"version", agent.version},
                           {"command_line", agent.command_line},
                           {"cpu_model", agent.cpu_model},
                           {"microcode", agent.microcode},
                           {"cpus", agent.cpus},
                           {"memory_bytes", agent.memory_bytes},
                           {"clocksource", agent.clocksource},
                           {"high_resolution_timers", agent.high_resolution_timers},
                           {"governor", agent.governor},
                           {"lock_kind", agent.lock_kind},
                           {"mitigations", agent.mitigations},
                           {"warnings", agent.warnings},
                           {"pinning", hello.pinning},
                           {"agent", agent.build},
                           {"agent_sha256", parts_.agent_hash}};
    core::Boot* boot = nullptr;
    if (const auto* evaluation = find_by_attempt(hello.attempt, boot)) accel_.emplace(evaluation->uid, hello.accel);
    const store::AttemptHello row{dump_json(environment), hello.accel,    hello.accel_reason,
                                  hello.machine,          hello.emulator, hello.channel};
    store_report(hello.attempt, [&](store::Writer& writer) { return writer.set_attempt_hello(hello.attempt, row); });
}

namespace {

const char* kind_of(const msg::RunOrder& order) {
    if (order.check) return "check";
    if (order.profile.frequency_hz > 0) return "profiled";
    return order.counters.empty() ? "timed" : "counted";
}

/// The first thing the kernel was unhappy with; empty if nothing. A clock that is unsteady is not its fault.
std::string complaint_of(const std::vector<msg::ConsoleEvent>& console) {
    for (const auto& event : console)
        if (event.kind != "timer") return event.text.substr(0, event.text.find('\n'));
    return {};
}

std::vector<store::NewProfileSymbol> shares(const std::vector<msg::ProfileSymbol>& profile) {
    double all = 0;
    for (const auto& symbol : profile) all += static_cast<double>(symbol.samples);
    std::vector<store::NewProfileSymbol> rows;
    for (const auto& [symbol, caller, samples] : profile)
        rows.push_back({symbol, caller, samples, static_cast<double>(samples) / all});
    return rows;
}

}  // namespace

msg::AgentPlan Coordinator::runs_of(const core::Evaluation& evaluation, int arm) {
    const int block = evaluation.block->number;
    return block == check_block ? check_runs(evaluation.plan, arm) : boot_runs(evaluation.plan, block);
}

void Coordinator::run_finished(const msg::RunFinished& run) {
    core::Boot* boot = nullptr;
    const auto* evaluation = find_by_attempt(run.attempt, boot);
    if (evaluation == nullptr) return;  // of an attempt that was given up: its samples would never count
    const auto orders = runs_of(*evaluation, boot->arm).runs;
    const auto order =
        std::find_if(orders.begin(), orders.end(), [&](const msg::RunOrder& o) { return o.seq == run.seq; });
    if (order == orders.end()) {
        spdlog::error("attempt {}: run {} was never planned", run.attempt, run.seq);
        refused_.emplace(run.attempt, fmt::format("run {} was never planned", run.seq));
        return parts_.host->cancel(run.attempt);
    }
    store::NewRun row;
    row.seq = run.seq;
    row.workload = order->workload;
    row.point = order->point;
    row.iteration = order->iteration;
    row.warmup = order->warmup;
    row.kind = kind_of(*order);
    row.started_ns = run.started_ns;
    for (const auto& s : run.samples) row.samples.push_back({s.metric, s.value, s.reason, s.enabled_ns, s.running_ns});
    for (const auto& s : run.conditions) row.conditions.push_back({s.metric, s.value, s.reason, {}, {}});
    row.profile = shares(run.profile);
    if (store_report(run.attempt, [&](store::Writer& writer) { return writer.add_run(run.attempt, row); }))
        parts_.host->acknowledge(run.attempt, run.seq);
}

Result<std::optional<core::Exclusion>> Coordinator::exclusion_of(const core::Evaluation& evaluation,
                                                                 const std::string& attempt) const {
    const auto& exclude = evaluation.plan.experiment.exclude;
    if (!declares(exclude) || evaluation.block->number == check_block) return std::optional<core::Exclusion>();
    const auto conditions = parts_.store->block_conditions(attempt);
    if (!conditions) return pass(conditions);
    return judge_block(*conditions, exclude);
}

void Coordinator::boot_finished(const msg::BootFinished& told) {
    auto finished = told;
    if (finished.attempt == booted_attempt_) lock_.reset();
    // Cancelled by us, or over before it heard of that: what it sent is incomplete either way.
    const bool unharmed = finished.outcome == msg::Outcome::ok || finished.outcome == msg::Outcome::cancelled;
    if (const auto refused = refused_.extract(finished.attempt); !refused.empty() && unharmed) {
        finished.outcome = msg::Outcome::infra_error;
        finished.detail = refused.mapped();
    }
    AttemptReport report;
    auto& end = report.end;
    end.setup_ns = finished.setup_ns;
    end.hello_ns = finished.hello_ns;
    end.work_ns = finished.work_ns;
    end.teardown_ns = finished.teardown_ns;
    end.false_starts = finished.false_starts;
    end.console_bytes = finished.console_bytes;
    for (const auto& e : finished.console) report.events.push_back({e.kind, e.severity, e.signature, e.text, e.line});

    core::Boot* boot = nullptr;
    auto* evaluation = find_by_attempt(finished.attempt, boot);
    if (evaluation != nullptr) {
        const auto time = pace_.finished(finished.attempt, parts_.clock->wall());
        const bool timed = evaluation->block->number != check_block;
        if (finished.outcome == msg::Outcome::ok && timed) pace_.boot_took(evaluation->uid, boot->arm, time);
    }
    std::optional<core::Exclusion> exclusion;
    if (evaluation != nullptr && finished.outcome == msg::Outcome::ok) {
        auto judged = exclusion_of(*evaluation, finished.attempt);
        if (!judged) return fatal(judged.error(), "the conditions of a block cannot be read back");
        exclusion = std::move(*judged);
    }
    reports_[finished.attempt] = std::move(report);
    std::string complaint;
    if (evaluation != nullptr && evaluation->block->number == check_block) complaint = complaint_of(finished.console);
    handle(core::AttemptFinished{finished.attempt, finished.outcome, finished.detail, std::move(exclusion),
                                 std::move(complaint)});
    reports_.erase(finished.attempt);
}

std::string Coordinator::plan_hash_of(const std::string& uid) {
    const auto* evaluation = find(uid);
    if (evaluation == nullptr) return {};
    std::vector<std::string> kernel_keys;
    for (const auto& [arm, kernel] : kernels_[uid]) kernel_keys.push_back(kernel.key);
    return plan_hash(evaluation->plan, kernel_keys, parts_.agent_hash, emulator_, shell_hash_);
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
