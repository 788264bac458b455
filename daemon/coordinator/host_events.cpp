// What the host tells: of itself, of its boots, of their runs.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "daemon/coordinator/coordinator.h"
#include "daemon/coordinator/exclusion.h"
#include "daemon/fault/fault_point.h"

namespace kab {

void Coordinator::host_up(const msg::Hello& hello) {
    fault_point("host.up");
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
    fault_point("host.lost");
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
    fault_point("boot.hello");
    const auto& agent = hello.agent;
    Json environment{{"release", agent.release},
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
                     {"agent_sha256", hello.agent_sha256}};
    if (!hello.shell_sha256.empty()) environment["shell_sha256"] = hello.shell_sha256;
    core::Boot* boot = nullptr;
    const auto* evaluation = find_by_attempt(hello.attempt, boot);
    const auto uid = evaluation == nullptr ? std::string() : evaluation->uid;  // of an attempt that was given up
    SealedPlan sealed;
    std::string before, why;
    if (evaluation != nullptr) {
        accel_.emplace(uid, hello.accel);
        before = sealed_[uid].hash;
        sealed = held_to(*evaluation, hello, why);
    }
    const store::AttemptHello row{dump_json(environment), hello.accel,    hello.accel_reason,
                                  hello.machine,          hello.emulator, hello.channel};
    const bool stored = store_report(hello.attempt, [&](store::Writer& writer) -> Status {
        if (sealed.hash != before)
            if (auto done = writer.seal_plan(uid, sealed.hash, before); !done) return done;
        return writer.set_attempt_hello(hello.attempt, row);
    });
    if (!stored || uid.empty()) return;
    sealed_[uid] = sealed;
    if (why.empty()) return;
    spdlog::error("attempt {}: {}", hello.attempt, why);
    refused_.emplace(hello.attempt, Refusal{why, true});
    parts_.host->cancel(hello.attempt);
}

SealedPlan Coordinator::held_to(const core::Evaluation& evaluation, const msg::BootHello& hello, std::string& why) {
    auto sealed = sealed_[evaluation.uid];
    // A boot of checks alone has no shell.
    auto shell = hello.shell_sha256;
    if (shell.empty()) shell = sealed.shell.empty() ? shell_hash_ : sealed.shell;
    why = hold_to(sealed, plan_hash_with(evaluation, hello.agent_sha256, shell), hello);
    return sealed;
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
    fault_point("run.finished");
    core::Boot* boot = nullptr;
    const auto* evaluation = find_by_attempt(run.attempt, boot);
    if (evaluation == nullptr) return;  // of an attempt that was given up: its samples would never count
    const auto orders = runs_of(*evaluation, boot->arm).runs;
    const auto order =
        std::find_if(orders.begin(), orders.end(), [&](const msg::RunOrder& o) { return o.seq == run.seq; });
    if (order == orders.end()) {
        spdlog::error("attempt {}: run {} was never planned", run.attempt, run.seq);
        fault_point("run.refused");
        refused_.emplace(run.attempt, Refusal{fmt::format("run {} was never planned", run.seq)});
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
    if (!store_report(run.attempt, [&](store::Writer& writer) { return writer.add_run(run.attempt, row); })) return;
    fault_point("run.stored");
    parts_.host->acknowledge(run.attempt, run.seq);
    fault_point("run.acknowledged");
}

/// Of the runs that the plan has for a boot: empty when all are stored, and no others.
Result<std::string> Coordinator::what_is_missing(const core::Evaluation& evaluation, int arm,
                                                 const std::string& attempt) const {
    const auto stored = parts_.store->runs_of(attempt);
    if (!stored) return pass(stored);
    std::vector<std::int64_t> planned;
    for (const auto& run : runs_of(evaluation, arm).runs) planned.push_back(run.seq);
    std::sort(planned.begin(), planned.end());
    if (*stored == planned) return std::string();
    return fmt::format("the host says that all went well, but {} of {} runs arrived", stored->size(), planned.size());
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
    fault_point("boot.finished");
    auto finished = told;
    if (finished.attempt == booted_attempt_) lock_.reset();
    // Cancelled by us, or over before it heard of that: what it sent is incomplete either way.
    const bool unharmed = finished.outcome == msg::Outcome::ok || finished.outcome == msg::Outcome::cancelled;
    if (const auto refused = refused_.extract(finished.attempt); !refused.empty()) {
        const auto& refusal = refused.mapped();
        if (unharmed || (refusal.other_programs && finished.outcome != msg::Outcome::kernel_crash)) {
            finished.outcome = msg::Outcome::infra_error;
            finished.detail = refusal.why;
        }
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
    if (evaluation != nullptr && finished.outcome == msg::Outcome::ok) {
        auto missing = what_is_missing(*evaluation, boot->arm, finished.attempt);
        if (!missing) return fatal(missing.error(), "the runs of a boot cannot be read back");
        if (!missing->empty()) {
            finished.outcome = msg::Outcome::infra_error;
            finished.detail = std::move(*missing);
        }
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

}  // namespace kab
