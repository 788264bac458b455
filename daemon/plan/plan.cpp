#include "daemon/plan/plan.h"

#include <algorithm>
#include <cassert>

#include "daemon/spec/experiment_json.h"
#include "daemon/stats/random.h"

namespace kab {
namespace {

/// What a derived seed is for (daemon/stats/random.h, derive_seed).
enum Purpose : std::uint64_t { latin_square = 1, points = 2, timer_phase = 3, layout = 4 };

struct Point {
    const WorkloadSpec* workload = nullptr;
    std::int64_t number = 0;
    Parameters parameters;
};

std::vector<Point> all_points(const Experiment& experiment) {
    std::vector<Point> all;
    for (const auto& workload : experiment.workloads) {
        std::int64_t number = 0;
        for (auto& parameters : workload.points()) all.push_back({&workload, number++, std::move(parameters)});
    }
    return all;
}

/// `count` iterations like `run`, numbered on from the plan's last.
void add_runs(const Point& point, int count, msg::RunOrder run, msg::AgentPlan& plan) {
    run.workload = point.workload->workload;
    run.point = point.number;
    run.with = point.parameters;
    for (int i = 0; i < count; ++i) {
        run.seq = static_cast<std::int64_t>(plan.runs.size()) + 1;
        run.iteration = i;
        plan.runs.push_back(run);
    }
}

void add_iterations(const Point& point, msg::AgentPlan& plan) {
    const auto& spec = *point.workload;
    msg::RunOrder warmup, timed, counted, profiled;
    warmup.warmup = true;
    add_runs(point, spec.warmup, warmup, plan);
    add_runs(point, spec.iterations, timed, plan);
    counted.counters = spec.counters;
    if (!spec.counters.empty()) add_runs(point, spec.counter_iterations, counted, plan);
    if (!spec.profile) return;
    profiled.profile.frequency_hz = spec.profile->frequency_hz;
    for (const auto& group : spec.profile->groups)
        profiled.profile.groups.push_back({group.name, group.symbols, group.callers, group.of_kernel});
    add_runs(point, spec.profile->iterations, profiled, plan);
}

}  // namespace

Plan make_plan(const Experiment& experiment, std::uint64_t seed) {
    Plan plan;
    plan.seed = seed;
    plan.experiment = experiment;
    plan.looks = experiment.decide.fixed ? std::vector<int>{*experiment.decide.fixed} : experiment.decide.looks;
    const auto& baseline = experiment.arms.front().name;
    for (std::size_t i = 0; i < experiment.arms.size(); ++i)
        plan.arms.push_back({experiment.arms[i].name, experiment.arms[i].against, Role::measured, static_cast<int>(i)});
    if (experiment.decide.control) plan.arms.push_back({control_arm, baseline, Role::control, 0});
    if (experiment.decide.relink) plan.arms.push_back({relinked_arm, baseline, Role::relinked, 0});
    if (experiment.checks.empty() || experiment.debug.empty()) return plan;
    for (std::size_t i = 0; i < experiment.arms.size(); ++i)
        if (experiment.arms[i].kernel.source.kind != Source::Kind::image)
            plan.arms.push_back({debug_arm(experiment.arms[i].name), {}, Role::debug, static_cast<int>(i)});
    return plan;
}

int kernel_owner(const Plan& plan, int arm) {
    const auto& planned = plan.arms[static_cast<std::size_t>(arm)];
    return planned.control() ? planned.kernel_of : arm;  // arms of the spec have the same index in both
}

std::string debug_arm(const std::string& arm) {
    return arm + "'debug";
}

const char* to_string(Role role) {
    switch (role) {
        case Role::measured: return "measured";
        case Role::control: return "control";
        case Role::relinked: return "relinked";
        case Role::debug: return "debug";
    }
    return "measured";
}

namespace {

/// Every kernel once, in the order of the arms: the control boots the baseline's image.
std::vector<int> check_order(const Plan& plan) {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(plan.arms.size()); ++i)
        if (kernel_owner(plan, i) == i && !check_runs(plan, i).runs.empty()) order.push_back(i);
    return order;
}

}  // namespace

std::vector<int> block_order(const Plan& plan, int block) {
    if (block == check_block) return check_order(plan);
    assert(block >= 1);
    const auto arms = static_cast<std::size_t>(std::count_if(
        plan.arms.begin(), plan.arms.end(), [](const PlannedArm& arm) { return arm.role != Role::debug; }));
    const auto square = static_cast<std::uint64_t>(block - 1) / arms;
    const auto row = static_cast<std::size_t>(block - 1) % arms;
    // A cyclic square with its symbols, rows and columns shuffled: over the square's blocks every arm stands
    // once at every position, and which arm follows which is not the same throughout.
    stats::SplitMix random(stats::derive_seed(plan.seed, Purpose::latin_square, square));
    std::vector<int> names(arms);
    std::vector<std::size_t> rows(arms), columns(arms);
    for (std::size_t i = 0; i < arms; ++i) {
        names[i] = static_cast<int>(i);
        rows[i] = columns[i] = i;
    }
    random.shuffle(names);
    random.shuffle(rows);
    random.shuffle(columns);
    std::vector<int> order(arms);
    for (std::size_t i = 0; i < arms; ++i) order[i] = names[(rows[row] + columns[i]) % arms];
    return order;
}

namespace {

/// A multiple of the tick at 100, 250, 300 and 1000 Hz: the rest after a division by any of them is uniform as well.
constexpr std::uint64_t phase_range_ns = 20'000'000;
/// Up to a mebibyte: beyond what a table of the lowest level maps in parts, well within the least limit of a stack.
constexpr std::uint64_t layout_range_pages = 256;

/// What differs from block to block in exact mode, the same for all arms of a block.
void add_variation(const Plan& plan, int block, msg::AgentPlan& out) {
    const auto& host = plan.experiment.host;
    out.exact = host.exact;
    if (!host.exact) return;
    const auto draw = [&](Purpose purpose, std::uint64_t range) {
        stats::SplitMix random(stats::derive_seed(plan.seed, purpose, static_cast<std::uint64_t>(block)));
        return static_cast<std::int64_t>(random.below(range));
    };
    if (host.vary_timer) out.timer_phase_ns = draw(Purpose::timer_phase, phase_range_ns);
    if (host.vary_layout) out.layout_pages = draw(Purpose::layout, layout_range_pages);
}

}  // namespace

msg::AgentPlan boot_runs(const Plan& plan, int block) {
    auto points = all_points(plan.experiment);
    stats::SplitMix random(stats::derive_seed(plan.seed, Purpose::points, static_cast<std::uint64_t>(block)));
    random.shuffle(points);
    msg::AgentPlan out;
    for (const auto& point : points) add_iterations(point, out);
    add_variation(plan, block, out);
    return out;
}

msg::AgentPlan check_runs(const Plan& plan, int arm) {
    const bool debug = plan.arms[static_cast<std::size_t>(arm)].role == Role::debug;
    msg::AgentPlan out;
    for (const auto& check : plan.experiment.checks) {
        if (check.debug_only && !debug) continue;
        msg::RunOrder run;
        run.seq = static_cast<std::int64_t>(out.runs.size()) + 1;
        run.workload = check.check;
        run.with = check.with;
        run.check = true;
        out.runs.push_back(std::move(run));
    }
    return out;
}

std::string canonical_text(const Plan& plan) {
    Json arms = Json::array();
    for (const auto& arm : plan.arms)
        arms.push_back({{"name", arm.name},
                        {"against", arm.against},
                        {"role", to_string(arm.role)},
                        {"kernel_of", arm.kernel_of}});
    const Json experiment = to_json(plan.experiment);
    const auto& decide = plan.experiment.decide;
    // Keys are sorted by the JSON library, so equal plans have equal texts.
    Json json({{"version", 2},
               {"seed", plan.seed},
               {"looks", plan.looks},
               {"arms", arms},
               {"workloads", experiment.at("workloads")},
               {"checks", experiment.at("checks")},
               {"debug", experiment.at("debug")},
               {"primary", decide.primary},
               {"margin", decide.margin},
               {"alpha", decide.alpha},
               {"fixed", decide.fixed.has_value()},
               {"exclude", experiment.at("exclude")},
               {"host", experiment.at("host")},
               {"limits", experiment.at("limits")}});
    if (!decide.at.empty()) json["at"] = decide.at;
    return dump_json(json);
}

}  // namespace kab
