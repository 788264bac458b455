#include "daemon/plan/plan.h"

#include <algorithm>
#include <cassert>

#include "daemon/spec/experiment_json.h"
#include "daemon/stats/random.h"

namespace kab {
namespace {

/// What a derived seed is for (daemon/stats/random.h, derive_seed).
enum Purpose : std::uint64_t { latin_square = 1, points = 2 };

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

void add_runs(const Point& point, int count, bool warmup, const std::vector<std::string>& counters,
              msg::AgentPlan& plan) {
    for (int i = 0; i < count; ++i) {
        msg::RunOrder run;
        run.seq = static_cast<std::int64_t>(plan.runs.size()) + 1;
        run.workload = point.workload->workload;
        run.point = point.number;
        run.with = point.parameters;
        run.iteration = i;
        run.warmup = warmup;
        run.counters = counters;
        plan.runs.push_back(std::move(run));
    }
}

}  // namespace

Plan make_plan(const Experiment& experiment, std::uint64_t seed) {
    Plan plan;
    plan.seed = seed;
    plan.experiment = experiment;
    plan.looks = experiment.decide.fixed ? std::vector<int>{*experiment.decide.fixed} : experiment.decide.looks;
    for (std::size_t i = 0; i < experiment.arms.size(); ++i)
        plan.arms.push_back({experiment.arms[i].name, experiment.arms[i].against, false, static_cast<int>(i)});
    if (experiment.decide.control) plan.arms.push_back({control_arm, experiment.arms.front().name, true, 0});
    return plan;
}

std::vector<int> block_order(const Plan& plan, int block) {
    assert(block >= 1);
    const auto arms = plan.arms.size();
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

msg::AgentPlan boot_runs(const Plan& plan, int block) {
    auto points = all_points(plan.experiment);
    stats::SplitMix random(stats::derive_seed(plan.seed, Purpose::points, static_cast<std::uint64_t>(block)));
    random.shuffle(points);
    msg::AgentPlan out;
    for (const auto& point : points) {
        add_runs(point, point.workload->warmup, true, {}, out);
        add_runs(point, point.workload->iterations, false, {}, out);
        if (!point.workload->counters.empty())
            add_runs(point, point.workload->counter_iterations, false, point.workload->counters, out);
    }
    return out;
}

std::string canonical_text(const Plan& plan) {
    Json arms = Json::array();
    for (const auto& arm : plan.arms)
        arms.push_back(
            {{"name", arm.name}, {"against", arm.against}, {"control", arm.control}, {"kernel_of", arm.kernel_of}});
    const Json experiment = to_json(plan.experiment);
    const auto& decide = plan.experiment.decide;
    // Keys are sorted by the JSON library, so equal plans have equal texts.
    return dump_json({{"version", 1},
                      {"seed", plan.seed},
                      {"looks", plan.looks},
                      {"arms", arms},
                      {"workloads", experiment.at("workloads")},
                      {"primary", decide.primary},
                      {"margin", decide.margin},
                      {"alpha", decide.alpha},
                      {"fixed", decide.fixed.has_value()},
                      {"host", experiment.at("host")},
                      {"limits", experiment.at("limits")}});
}

}  // namespace kab
