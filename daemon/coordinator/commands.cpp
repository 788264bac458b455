// Stepping the core, committing what it decided, carrying out its commands. Looks: looks.cpp.
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>

#include "common/digest/sha256.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/coordinator/step_points.h"
#include "daemon/fault/fault_point.h"

namespace kab {
namespace asio = boost::asio;
namespace {

store::KernelRow kernel_row(const kernel::Frozen& frozen) {
    Json patches = Json::array();
    for (const auto& patch : frozen.patches)
        patches.push_back({{"file", patch.file}, {"subject", patch.subject}, {"patch_id", patch.patch_id}});
    store::KernelRow row;
    row.key = frozen.key;
    row.origin = frozen.origin;
    row.base_commit = frozen.base_commit;
    row.tree = frozen.tree;
    row.release = frozen.release;
    row.config_hash = sha256_hex(frozen.base + "\n" + frozen.fragments);
    row.toolchain = frozen.toolchain;
    row.patches = dump_json(patches);
    row.frozen = dump_json(kernel::to_json(frozen));
    row.modules = frozen.modules;
    return row;
}

void fill_built(store::KernelRow& row, const kernel::Built& built) {
    row.path = built.path;
    row.format = built.format;
    row.image_hash = built.image_hash;
    row.code_signature = built.code_signature;
    row.compiler = built.compiler;
    row.log_path = built.log_path;
    row.config_path = built.config_path;
    if (built.cached) return;
    row.wall_ns = built.wall_ns;
    row.cpu_ns = built.cpu_ns;
    row.objects = built.objects;
}

}  // namespace

void Coordinator::handle(const core::Event& event, const ExtraWrite& extra) {
    if (stopped_) return;
    const auto new_uid = [this] { return uids_.next(); };
    auto step = core::step(state_, event, parts_.clock->wall(), new_uid);
    for (const auto& transition : step.transitions)
        if (const auto* ended = std::get_if<core::FinishAttempt>(&transition)) attach_console(ended->uid);
    const bool committed = commit(step.transitions, extra);
    for (const auto& transition : step.transitions)
        if (const auto* ended = std::get_if<core::FinishAttempt>(&transition)) reports_.erase(ended->uid);
    if (!committed) return;
    for (const auto& command : step.commands) {
        std::visit([this](const auto& one) { carry_out(one); }, command);
        pass_carried_out(command);
        if (stopped_) return;
    }
    std::erase_if(progress_, [this](const auto& entry) { return find(entry.first) == nullptr; });
    std::erase_if(accel_, [this](const auto& entry) { return find(entry.first) == nullptr; });
    std::erase_if(sealed_, [this](const auto& entry) { return find(entry.first) == nullptr; });
    arm_timer();
}

bool Coordinator::commit(const std::vector<core::Transition>& transitions, const ExtraWrite& extra) {
    if (transitions.empty() && !extra) return true;
    const CommitContext context{parts_.clock->wall().time_since_epoch().count(), reports_, host_name_,
                                [this](const std::string& uid) { return seal(uid); }};
    pass_decided(transitions);
    auto status = parts_.store->write([&](store::Writer& writer) -> Status {
        if (extra)
            if (auto done = extra(writer); !done) return done;
        return commit_transitions(writer, transitions, context);
    });
    if (!status) {
        fatal(status.error());
        return false;
    }
    pass_committed(transitions);
    watch_wal();
    if (!transitions.empty())
        for (auto* listener : std::set<Listener*>(listeners_)) listener->transitions_committed();
    return true;
}

void Coordinator::fatal(const Error& error, const char* what) {
    if (stopped_) return;
    spdlog::critical("{}, kabd ends: {}", what, error.text());
    fatal_ = error;
    stop();
    parts_.on_fatal(error);
}

bool Coordinator::store_report(const std::string& attempt, const ExtraWrite& write) {
    if (stopped_) return false;
    const auto status = parts_.store->write(write);
    watch_wal();
    if (status) return true;
    const auto fault = status.error().fault;
    if (fault == Fault::io || fault == Fault::timeout || fault == Fault::internal) {
        fatal(status.error());
        return false;
    }
    spdlog::error("attempt {}: {}", attempt, status.error().text());
    fault_point("run.refused");
    refused_.emplace(attempt, Refusal{"what was measured cannot be stored: " + status.error().text()});
    parts_.host->cancel(attempt);
    return false;
}

/// SQLite folds the log into the file by itself, unless a reader holds on to an old state.
void Coordinator::watch_wal() {
    const auto bytes = parts_.store->wal_bytes();
    if (bytes < parts_.large_wal || bytes < 2 * told_wal_) return;
    told_wal_ = bytes;
    spdlog::warn("the write-ahead log {}-wal has {} MiB: a reader has had the database open in one long query, end it",
                 parts_.paths.database().string(), bytes >> 20);
}

/// Whatever became of an attempt, the console it wrote is kept with it.
void Coordinator::attach_console(const std::string& attempt) {
    auto& end = reports_[attempt].end;
    std::error_code ignored;
    for (const auto& folder : fs::directory_iterator(parts_.paths.artifacts(), ignored)) {
        const auto console = folder.path() / (attempt + ".console");
        const auto size = fs::file_size(console, ignored);
        if (ignored) continue;
        // On disk before its row. If that cannot be had, the console of a crash is still better than none.
        if (auto synced = sync_file(console); !synced) spdlog::warn("{}", synced.error().text());
        end.console_path = (folder.path().filename() / console.filename()).string();
        end.console_bytes = static_cast<std::int64_t>(size);
        if (auto hash = sha256_file(console)) end.console_sha256 = *hash;
        fault_point("boot.console-kept");
    }
}

void Coordinator::report_progress(const ProgressEvent& event) {
    progress_[event.evaluation] = event;
    for (auto* listener : std::set<Listener*>(listeners_)) listener->progress(event);
}

void Coordinator::arm_timer() {
    const auto next = core::next_deadline(state_);
    deadline_.cancel();
    if (!next) return;
    const auto wait = std::max(Nanoseconds(std::chrono::milliseconds(10)), *next - parts_.clock->wall());
    deadline_.expires_after(wait);
    deadline_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
        if (!error && *alive) handle(core::Tick{});
    });
}

// ---- freezing and building ----

Builder::Progress Coordinator::progress_of(const std::string& evaluation, const char* phase, const std::string& arm) {
    return
        [this, evaluation, phase, arm, alive = alive_](const std::string& step, std::int64_t at, std::int64_t total) {
            if (!*alive) return;
            ProgressEvent event;
            event.evaluation = evaluation;
            event.phase = phase;
            event.arm = arm;
            event.step = step;
            event.done = at;
            event.total = total;
            report_progress(event);
        };
}

void Coordinator::carry_out(const core::Freeze& command) {
    freeze_next(command.evaluation, {});
}

/// One arm after the other; mistakes in several are told together.
void Coordinator::freeze_next(const std::string& uid, Freezing so_far) {
    const auto* evaluation = find(uid);
    if (evaluation == nullptr) return handle(core::FreezeFinished{uid, {}});  // cancelled: the builder is free
    const auto& plan = evaluation->plan;
    const auto arm = so_far.kernels.size();
    if (arm == plan.arms.size()) return freeze_finished(uid, std::move(so_far));
    if (const auto owner = static_cast<std::size_t>(kernel_owner(plan, static_cast<int>(arm))); owner < arm) {
        so_far.kernels.push_back(so_far.kernels[owner]);
        return freeze_next(uid, std::move(so_far));
    }
    const auto progress = progress_of(uid, "freeze", plan.arms[arm].name);
    parts_.builder->freeze(
        inputs_.request(uid, plan.experiment, plan.arms[arm]), plan.experiment.limits.build, progress,
        [this, uid, arm, so_far = std::move(so_far), alive = alive_](const Result<kernel::Frozen>& frozen) mutable {
            if (!*alive) return;
            so_far.kernels.push_back(frozen ? kernel_row(*frozen) : store::KernelRow());
            fault_point("freeze.arm-known");
            if (frozen) return freeze_next(uid, std::move(so_far));
            const auto fault = frozen.error().fault;
            so_far.bad.push_back({static_cast<int>(arm), frozen.error()});
            if (fault == Fault::spec || fault == Fault::not_found) return freeze_next(uid, std::move(so_far));
            freeze_finished(uid, std::move(so_far));  // a fault of ours: the next arm would meet it, too
        });
}

void Coordinator::freeze_finished(const std::string& uid, Freezing done) {
    const auto* evaluation = find(uid);
    ExtraWrite write;
    if (evaluation != nullptr && done.bad.empty()) {
        // By value: stepping the core may move or drop evaluations before this is written.
        write = [this, uid, arms = evaluation->plan.arms, kernels = done.kernels](store::Writer& writer) -> Status {
            for (std::size_t i = 0; i < arms.size(); ++i) {
                if (auto set = writer.set_arm_kernel(uid, arms[i].name, kernels[i]); !set) return set;
                kernels_[uid][static_cast<int>(i)] = kernels[i];
            }
            return {};
        };
    }
    handle(core::FreezeFinished{uid, std::move(done.bad)}, write);
    if (stopped_) return;
    inputs_.remove(uid);  // not before the commit: a restart would freeze again
    fault_point("freeze.inputs-removed");
}

void Coordinator::carry_out(const core::Build& command) {
    const auto* evaluation = find(command.evaluation);
    const auto& row = kernels_[command.evaluation][command.arm];
    auto json = parse_json(row.frozen);
    auto frozen = json ? kernel::frozen_from_json(*json) : Result<kernel::Frozen>(pass(json));
    if (evaluation == nullptr || !frozen) {
        const Status status = frozen ? fail(Fault::cancelled, "gone") : pass(frozen);
        asio::post(parts_.executor, [this, command, status, alive = alive_] {
            if (*alive) handle(core::BuildFinished{command.evaluation, command.arm, status});
        });
        return;
    }
    const auto progress =
        progress_of(command.evaluation, "build", evaluation->plan.arms[static_cast<std::size_t>(command.arm)].name);
    parts_.builder->build(
        *frozen, evaluation->plan.experiment.limits.build, progress,
        [this, command, alive = alive_](Result<kernel::Built> built) {
            if (!*alive) return;
            fault_point("build.done");
            if (!built) return handle(core::BuildFinished{command.evaluation, command.arm, pass(built)});
            auto& kernels = kernels_[command.evaluation];
            for (auto& [arm, same] : kernels)  // A' and arms that come to the same kernel boot it, too
                if (same.key == built->key) fill_built(same, *built);
            const auto& kernel = kernels[command.arm];
            const auto at = parts_.clock->wall().time_since_epoch().count();
            handle(core::BuildFinished{command.evaluation, command.arm, {}},
                   [&](store::Writer& writer) { return writer.set_kernel_built(kernel, at); });
        });
}

void Coordinator::carry_out(const core::StopBuilder&) {
    parts_.builder->stop();
}

// ---- boots ----

msg::BootRequest Coordinator::boot_request(const core::Evaluation& evaluation, const core::Dispatch& command) const {
    const auto& experiment = evaluation.plan.experiment;
    const auto& arm = evaluation.plan.arms[static_cast<std::size_t>(command.arm)];
    const auto& spec = experiment.arms[static_cast<std::size_t>(arm.kernel_of)];
    const auto& kernel = kernels_.at(evaluation.uid).at(command.arm);
    msg::BootRequest request;
    request.attempt = command.attempt;
    request.kernel = kernel.path;
    request.modules = kernel.modules;
    request.command_line = spec.kernel.command_line;
    // Boots of one evaluation are comparable only under one accelerator: the first boot's choice holds for all.
    if (const auto seen = accel_.find(evaluation.uid); seen != accel_.end()) request.accel = seen->second;
    if (experiment.host.accel == HostSpec::Accel::kvm) request.accel = "kvm";
    if (experiment.host.accel == HostSpec::Accel::tcg) request.accel = "tcg";
    if (experiment.host.machine == HostSpec::Machine::microvm) request.machine = "microvm";
    if (experiment.host.machine == HostSpec::Machine::q35) request.machine = "q35";
    // Checks are no timings: they run faster, and as well, without counting.
    request.exact = experiment.host.exact && command.block != check_block;
    request.cpus = experiment.host.cpus;
    request.memory_bytes = experiment.host.memory_bytes;
    const int patience = arm.role == Role::debug ? debug_patience : 1;
    request.boot_limit_ns = patience * experiment.limits.boot.count();
    request.run_limit_ns = patience * experiment.limits.run.count();
    request.plan = runs_of(evaluation, command.arm);
    request.plan.drain_limit_ns = request.run_limit_ns;
    request.console_path = (parts_.paths.artifacts() / evaluation.uid / (command.attempt + ".console")).string();
    return request;
}

void Coordinator::carry_out(const core::Dispatch& command) {
    const auto* evaluation = find(command.evaluation);
    if (evaluation == nullptr) return;
    const auto request = boot_request(*evaluation, command);
    std::error_code ignored;
    Status ready = make_directories(fs::path(request.console_path).parent_path());
    if (ready && !fs::exists(request.kernel, ignored))
        ready = fail(Fault::infra, "the kernel image {} is gone", request.kernel);
    if (!ready) {
        asio::post(parts_.executor, [this, command, detail = ready.error().text(), alive = alive_] {
            if (*alive) handle(core::AttemptFinished{command.attempt, msg::Outcome::infra_error, detail});
        });
        return;
    }
    if (parts_.machine_lock) {
        lock_queue_.emplace(fmt::format("measuring for evaluation {}", command.evaluation));
        waiting_attempt_ = command.attempt;
        waiting_since_ = parts_.clock->wall();
    }
    fault_point("boot.folder-made");
    boot_when_alone(command.evaluation, request);
}

void Coordinator::boot_when_alone(const std::string& evaluation, const msg::BootRequest& request) {
    if (lock_queue_) {
        auto lock = lock_queue_->poll();
        if (!lock) return give_up_lock(request.attempt, msg::Outcome::infra_error, lock.error().text());
        if (!*lock) {
            if (!waited(evaluation, request.attempt)) return;
            boot_progress({request.attempt, "waiting", 0, 0});
            lock_timer_.expires_after(std::chrono::milliseconds(100));
            lock_timer_.async_wait([this, evaluation, request, alive = alive_](const boost::system::error_code& error) {
                if (!error && *alive && waiting_attempt_ == request.attempt) boot_when_alone(evaluation, request);
            });
            return;
        }
        if (!waited(evaluation, request.attempt)) return;
        lock_ = std::move(**lock);
        lock_queue_.reset();
        waiting_attempt_.clear();
    }
    booted_attempt_ = request.attempt;
    pace_.dispatched(request.attempt, parts_.clock->wall());
    parts_.host->boot(request);
}

/// The time since this was told last is none of the block's. False when the attempt no longer waits.
bool Coordinator::waited(const std::string& evaluation, const std::string& attempt) {
    const auto now = parts_.clock->wall();
    const auto time = now - waiting_since_;
    waiting_since_ = now;
    handle(core::Waited{evaluation, time});
    return !stopped_ && waiting_attempt_ == attempt;
}

/// The attempt ends before the host ever heard of it.
void Coordinator::give_up_lock(const std::string& attempt, msg::Outcome outcome, const std::string& detail) {
    lock_queue_.reset();
    waiting_attempt_.clear();
    asio::post(parts_.executor, [this, attempt, outcome, detail, alive = alive_] {
        if (!*alive) return;
        fault_point("boot.given-up");
        handle(core::AttemptFinished{attempt, outcome, detail});
    });
}

void Coordinator::carry_out(const core::CancelAttempt& command) {
    if (waiting_attempt_ == command.attempt)
        give_up_lock(command.attempt, msg::Outcome::cancelled, "cancelled before it was booted");
    else
        parts_.host->cancel(command.attempt);
}

}  // namespace kab
