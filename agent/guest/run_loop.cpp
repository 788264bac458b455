#include "agent/guest/run_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "agent/guest/canary.h"
#include "agent/guest/environment.h"
#include "agent/guest/exact.h"
#include "agent/guest/perf/profiler.h"
#include "agent/guest/text.h"
#include "common/workload_catalog.h"

namespace kab::guest {
namespace {

/// A workload that was made for this boot, with its name.
using MadeWorkloads = std::map<std::string, std::unique_ptr<Workload>>;

const WorkloadEntry* find_entry(std::span<const WorkloadEntry> workloads, std::string_view name) {
    for (const auto& entry : workloads)
        if (entry.name == name) return &entry;
    return nullptr;
}

/// The parameters of a run with the catalog's values where it is silent.
Result<std::map<std::string, std::int64_t>> complete_parameters(const WorkloadInfo& info,
                                                                const std::map<std::string, std::int64_t>& given) {
    std::map<std::string, std::int64_t> with;
    for (const auto& parameter : info.parameters) {
        const auto found = given.find(std::string(parameter.name));
        const std::int64_t value = found == given.end() ? parameter.fallback : found->second;
        if (value < parameter.least || value > parameter.most)
            return fail(Fault::protocol, "{}: {} is {}, allowed are {} to {}", info.name, parameter.name, value,
                        parameter.least, parameter.most);
        with.emplace(parameter.name, value);
    }
    for (const auto& [name, value] : given)
        if (!with.contains(name)) return fail(Fault::protocol, "{}: no parameter '{}'", info.name, name);
    return with;
}

/// The run's limit counts from RunStarted, and the host's patience ends with it: what is said must come before.
Nanoseconds time_to_drain(const msg::AgentPlan& plan, std::int64_t started_ns) {
    const Nanoseconds limit = plan.drain_limit_ns > 0 ? Nanoseconds{plan.drain_limit_ns} : default_drain_limit;
    if (plan.run_limit_ns <= 0) return limit;
    const Nanoseconds run_limit{plan.run_limit_ns};
    const Nanoseconds spare = std::min<Nanoseconds>(std::chrono::seconds(3), run_limit / 10);
    const Nanoseconds left = run_limit - spare - Nanoseconds{raw_clock_ns() - started_ns};
    return std::clamp(left, Nanoseconds{0}, limit);
}

/// A run as the plan has it, with what is needed to carry it out.
struct Job {
    const msg::RunOrder* order;
    const WorkloadEntry* entry;
    RunContext context;
};

Result<Job> make_job(const msg::RunOrder& order, std::span<const WorkloadEntry> workloads) {
    const WorkloadInfo* info = find_workload(order.workload);
    const WorkloadEntry* entry = find_entry(workloads, order.workload);
    if (!info || !entry) return fail(Fault::protocol, "this agent has no workload '{}'", order.workload);
    for (const auto& counter : order.counters)
        if (!find_counter(counter)) return fail(Fault::protocol, "this agent knows no counter '{}'", counter);
    auto with = complete_parameters(*info, order.with);
    if (!with) return pass(with);
    return Job{&order, entry, RunContext{std::move(*with), Nanoseconds{0}, false}};
}

Result<std::vector<Job>> check_plan(const msg::AgentPlan& plan, std::span<const WorkloadEntry> workloads) {
    std::vector<Job> jobs;
    for (const auto& order : plan.runs) {
        if (order.seq < 1) return fail(Fault::protocol, "plan: run with seq {}, expected 1 or more", order.seq);
        auto job = make_job(order, workloads);
        if (!job) return fail(Fault::protocol, "plan, run {}: {}", order.seq, job.error().text());
        job->context.exact = plan.exact;
        jobs.push_back(std::move(*job));
    }
    return jobs;
}

Result<msg::AgentPlan> take_plan(Channel& channel, const fs::path& packed) {
    std::error_code ignored;
    if (!packed.empty() && fs::exists(packed, ignored)) return read_plan(packed);
    auto message = channel.receive();
    if (!message) return pass(message);
    if (auto* plan = std::get_if<msg::AgentPlan>(&*message)) return std::move(*plan);
    return fail(Fault::protocol, "expected the plan of this boot, got another message");
}

void append(std::vector<msg::Sample>& samples, std::vector<msg::Sample> more) {
    samples.insert(samples.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Prepare, run, drain; what the run has to tell.
Result<msg::RunFinished> carry_out(const msg::AgentPlan& plan, Job& job, Workload& workload, Profiler& profiler) {
    const std::int64_t started_ns = raw_clock_ns();
    const bool counted = !job.order->counters.empty();
    const bool timed = !counted && job.order->profile.frequency_hz == 0;
    if (auto prepared = workload.prepare(job.context); !prepared) return pass(prepared);
    profiler.prepare(*job.order);
    Meter meter(job.order->counters, profiler.sampler());
    if (plan.exact) meter.be_exact(plan.timer_phase_ns);
    auto own = workload.run(job.context, meter);
    if (!own) return pass(own);
    msg::RunFinished finished;
    finished.seq = job.order->seq;
    finished.started_ns = meter.started_ns();
    if (timed) {
        finished.samples = std::move(*own);
        if (plan.exact) append(finished.samples, meter.exact_samples());
    } else if (counted) {
        auto samples = meter.counted_samples();
        if (!samples) return pass(samples);
        finished.samples = std::move(*samples);
    }
    job.context.drain_limit = time_to_drain(plan, started_ns);
    auto left = workload.drain(job.context, meter);
    if (!left && left.error().fault == Fault::timeout)
        return fail(Fault::timeout, "{}; limits.run is for a run and this: raise it", left.error().text());
    if (!left) return pass(left);
    if (timed)
        append(finished.samples, std::move(*left));
    else if (counted)
        finished.samples.push_back(meter.drain_busy());
    profiler.finish(*job.order, Nanoseconds{meter.elapsed_ns()}, finished);
    return finished;
}

RunLoopResult give_up(Channel& channel, std::int64_t seq, const std::string& message) {
    const auto sent = channel.send(msg::AgentError{seq, message});
    if (sent) return {Ending::reported, message};
    return {Ending::unheard, fmt::format("{}; and the host could not be told: {}", message, sent.error().text())};
}

RunLoopResult carry_out_all(Channel& channel, const msg::AgentPlan& plan, std::vector<Job>& jobs,
                            const std::function<Status()>& still_sound, const std::function<Status()>& get_ready,
                            const std::function<Status()>& after_check) {
    MadeWorkloads made;
    Profiler profiler;
    for (Job& job : jobs) {
        const std::int64_t seq = job.order->seq;
        auto& workload = made[job.order->workload];
        if (!workload) workload = job.entry->make();
        if (auto sent = channel.send(msg::RunStarted{seq}); !sent) return {Ending::unheard, sent.error().text()};
        if (&job == &jobs.front())
            if (auto ready = get_ready(); !ready) return give_up(channel, seq, ready.error().text());
        const Canary canary(plan.exact);
        auto finished = carry_out(plan, job, *workload, profiler);
        if (finished && job.order->check)
            if (auto sound = after_check(); !sound) finished = pass(sound);
        if (!finished) return give_up(channel, seq, job.order->workload + ": " + finished.error().text());
        finished->conditions.push_back(canary.after_run());
        if (auto sent = channel.send(std::move(*finished)); !sent) return {Ending::unheard, sent.error().text()};
    }
    made.clear();  // restores what they changed, before the host is told that all is done
    if (auto sound = still_sound(); !sound) return give_up(channel, 0, sound.error().text());
    const auto sent = channel.send(msg::AgentDone{static_cast<std::int64_t>(jobs.size())});
    if (!sent) return {Ending::unheard, sent.error().text()};
    return {Ending::done, {}};
}

}  // namespace

RunLoopResult run_loop(Channel& channel, std::span<const WorkloadEntry> workloads,
                       const std::function<Status()>& still_sound, const fs::path& packed,
                       const std::function<Status()>& get_ready, const std::function<Status()>& after_check) {
    const auto plan = take_plan(channel, packed);
    if (!plan) return give_up(channel, 0, plan.error().text());
    auto jobs = check_plan(*plan, workloads);
    if (!jobs) return give_up(channel, 0, jobs.error().text());
    RunLoopResult result;
    with_layout(plan->layout_pages,
                [&] { result = carry_out_all(channel, *plan, *jobs, still_sound, get_ready, after_check); });
    return result;
}

}  // namespace kab::guest
