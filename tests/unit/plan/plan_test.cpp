#include "daemon/plan/plan.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace kab {
namespace {

Experiment experiment(int arms) {
    Experiment e;
    e.name = "demo";
    for (int a = 0; a < arms; ++a) {
        Arm arm;
        arm.name = fmt::format("arm{}", a);
        if (a > 0) arm.against = "arm0";
        e.arms.push_back(arm);
    }
    WorkloadSpec swept;
    swept.workload = "proc-read";
    swept.with = {{"bytes", 4096}};
    swept.sweep = {{"tasks", {1, 2, 4, 8, 16}}};
    swept.iterations = 3;
    swept.warmup = 2;
    swept.counters = {"task-clock"};
    swept.counter_iterations = 1;
    WorkloadSpec plain;
    plain.workload = "ipcns-exit";
    plain.with = {{"children", 1000}};
    plain.iterations = 4;
    plain.warmup = 1;
    plain.counter_iterations = 0;
    e.workloads = {swept, plain};
    e.decide.primary = "ipcns-exit/elapsed";
    return e;
}

TEST(Plan, BaselineFirstAndTheControlLast) {
    const Plan plan = make_plan(experiment(3), 7);
    ASSERT_EQ(plan.arms.size(), 4U);
    EXPECT_EQ(plan.arms[0].name, "arm0");
    EXPECT_TRUE(plan.arms[0].against.empty());
    EXPECT_EQ(plan.arms[3].name, control_arm);
    EXPECT_EQ(plan.arms[3].against, "arm0");
    EXPECT_TRUE(plan.arms[3].control());
    EXPECT_EQ(plan.arms[3].kernel_of, 0);
    EXPECT_EQ(plan.max_blocks(), 32);
}

TEST(Plan, ExactModeVariesByBlockAlone) {
    Experiment e = experiment(2);
    const auto ordinary = boot_runs(make_plan(e, 1), 1);
    EXPECT_FALSE(ordinary.exact);
    EXPECT_EQ(ordinary.timer_phase_ns, 0);
    e.host.exact = true;
    const Plan plan = make_plan(e, 1);
    std::set<std::int64_t> phases;
    for (int block = 1; block <= 8; ++block) {
        const auto runs = boot_runs(plan, block);
        EXPECT_TRUE(runs.exact);
        EXPECT_EQ(runs.layout_pages, 0);
        EXPECT_GE(runs.timer_phase_ns, 0);
        EXPECT_LT(runs.timer_phase_ns, 20'000'000);
        phases.insert(runs.timer_phase_ns);
        EXPECT_EQ(runs.timer_phase_ns, boot_runs(make_plan(e, 1), block).timer_phase_ns);
    }
    EXPECT_EQ(phases.size(), 8U);
    EXPECT_NE(*phases.begin(), boot_runs(make_plan(e, 2), 1).timer_phase_ns);
    e.host.vary_layout = true;
    EXPECT_NE(boot_runs(make_plan(e, 1), 1).layout_pages, boot_runs(make_plan(e, 1), 2).layout_pages);
    EXPECT_EQ(boot_runs(make_plan(e, 1), 1).timer_phase_ns, boot_runs(plan, 1).timer_phase_ns);
    e.host.vary_layout = e.host.vary_timer = false;
    EXPECT_EQ(boot_runs(make_plan(e, 1), 1).timer_phase_ns, 0);
    EXPECT_EQ(boot_runs(make_plan(e, 1), 1).layout_pages, 0);
}

TEST(Plan, OnlyTheControlBootsAnothersKernel) {
    Experiment e = experiment(2);
    e.decide.relink = true;
    const Plan plan = make_plan(e, 1);
    ASSERT_EQ(plan.arms.size(), 4U);
    EXPECT_EQ(plan.arms[3].name, relinked_arm);
    EXPECT_EQ(plan.arms[3].against, "arm0");
    EXPECT_EQ(kernel_owner(plan, 0), 0);
    EXPECT_EQ(kernel_owner(plan, 1), 1);
    EXPECT_EQ(kernel_owner(plan, 2), 0);
    EXPECT_EQ(kernel_owner(plan, 3), 3);
}

TEST(Plan, WithoutControlAndWithAFixedNumberOfBlocks) {
    auto e = experiment(2);
    e.decide.control = false;
    e.decide.fixed = 12;
    const Plan plan = make_plan(e, 7);
    EXPECT_EQ(plan.arms.size(), 2U);
    EXPECT_EQ(plan.looks, std::vector<int>{12});
}

TEST(BlockOrder, EveryArmStandsOnceAtEveryPositionOfASquare) {
    for (int arms = 1; arms <= 6; ++arms) {
        const Plan plan = make_plan(experiment(arms), 42);
        const int n = static_cast<int>(plan.arms.size());
        for (int square = 0; square < 10; ++square) {
            std::map<int, std::set<int>> positions;
            for (int row = 0; row < n; ++row) {
                const auto order = block_order(plan, square * n + row + 1);
                ASSERT_EQ(order.size(), static_cast<std::size_t>(n));
                for (int i = 0; i < n; ++i) positions[order[static_cast<std::size_t>(i)]].insert(i);
            }
            for (int a = 0; a < n; ++a) EXPECT_EQ(positions[a].size(), static_cast<std::size_t>(n));
        }
    }
}

TEST(BlockOrder, SquaresAreDrawnAnew) {
    const Plan plan = make_plan(experiment(3), 42);
    std::set<std::vector<int>> orders;
    for (int block = 1; block <= 400; ++block) orders.insert(block_order(plan, block));
    EXPECT_EQ(orders.size(), 24U);  // all orders of four arms come up
}

TEST(BlockOrder, ComesFromSeedAndBlockAlone) {
    const Plan plan = make_plan(experiment(3), 42), same = make_plan(experiment(3), 42);
    const Plan other = make_plan(experiment(3), 43);
    int different = 0;
    for (int block = 32; block >= 1; --block) {  // any block on its own, in any order
        EXPECT_EQ(block_order(plan, block), block_order(same, block));
        different += block_order(plan, block) != block_order(other, block) ? 1 : 0;
    }
    EXPECT_GT(different, 20);
}

// Written down once: a plan must stay the same on every machine and in every later version, or a restart
// would mix two orders in one evaluation.
TEST(BlockOrder, IsPortable) {
    const Plan plan = make_plan(experiment(3), 1);
    EXPECT_EQ(block_order(plan, 1), (std::vector<int>{1, 2, 0, 3}));
    EXPECT_EQ(block_order(plan, 2), (std::vector<int>{0, 3, 1, 2}));
    EXPECT_EQ(block_order(plan, 30), (std::vector<int>{1, 3, 2, 0}));
}

TEST(BootRuns, WarmUpsThenTimedThenCountedOfEachPoint) {
    const auto plan = make_plan(experiment(2), 5);
    const auto runs = boot_runs(plan, 1).runs;
    ASSERT_EQ(runs.size(), 5U * (2 + 3 + 1) + (1 + 4));
    std::map<std::pair<std::string, std::int64_t>, std::string> phases;
    std::pair<std::string, std::int64_t> before;
    std::set<std::pair<std::string, std::int64_t>> left;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        EXPECT_EQ(runs[i].seq, static_cast<std::int64_t>(i) + 1);
        const std::pair key{runs[i].workload, runs[i].point};
        if (key != before) {
            EXPECT_TRUE(left.insert(key).second) << "a point's runs are not together";
        }
        before = key;
        phases[key] += runs[i].warmup ? 'w' : runs[i].counters.empty() ? 't' : 'c';
    }
    EXPECT_EQ((phases[{"proc-read", 0}]), "wwtttc");
    EXPECT_EQ((phases[{"ipcns-exit", 0}]), "wtttt");
}

TEST(BootRuns, ProfiledIterationsComeLast) {
    auto e = experiment(2);
    e.workloads[0].profile.emplace();
    e.workloads[0].profile->frequency_hz = 499;
    e.workloads[0].profile->iterations = 2;
    e.workloads[0].profile->groups = {{"spin", {"_raw_spin_lock"}, {"ipc_lock"}, Better::lower, true}};
    std::string phases;
    for (const auto& run : boot_runs(make_plan(e, 5), 1).runs) {
        const bool profiled = run.profile.frequency_hz > 0;
        EXPECT_TRUE(run.workload == "proc-read" || !profiled);
        if (run.workload != "proc-read" || run.point != 3) continue;
        phases += profiled ? 'p' : run.warmup ? 'w' : run.counters.empty() ? 't' : 'c';
        if (!profiled) continue;
        EXPECT_TRUE(run.counters.empty()) << "one kind of disturbance at a time";
        EXPECT_EQ(run.profile.frequency_hz, 499);
        ASSERT_EQ(run.profile.groups.size(), 1U);
        EXPECT_EQ(run.profile.groups[0].callers, std::vector<std::string>{"ipc_lock"});
        EXPECT_TRUE(run.profile.groups[0].of_kernel);
    }
    EXPECT_EQ(phases, "wwtttcpp");
}

TEST(BootRuns, CarryParametersPointAndIteration) {
    const auto runs = boot_runs(make_plan(experiment(2), 5), 3).runs;
    for (const auto& run : runs) {
        if (run.workload != "proc-read") continue;
        EXPECT_EQ(run.with.at("bytes"), 4096);
        EXPECT_EQ(run.with.at("tasks"), 1LL << run.point);
        EXPECT_LT(run.iteration, run.warmup ? 2 : run.counters.empty() ? 3 : 1);
    }
}

TEST(BootRuns, PointOrderIsDrawnPerBlockAndTheSameForAllArms) {
    const auto plan = make_plan(experiment(2), 5);
    const auto sequence = [&](int block) {
        std::vector<std::int64_t> points;
        for (const auto& run : boot_runs(plan, block).runs)
            points.push_back(run.workload == "proc-read" ? run.point : -1);
        return points;
    };
    std::set<std::vector<std::int64_t>> orders;
    for (int block = 1; block <= 30; ++block) {
        EXPECT_EQ(sequence(block), sequence(block));
        orders.insert(sequence(block));
    }
    EXPECT_GT(orders.size(), 20U);
}

TEST(CanonicalText, CoversAllThatDecides) {
    const auto text = [](const Experiment& e, std::uint64_t seed = 1) { return canonical_text(make_plan(e, seed)); };
    const auto base = text(experiment(2));
    EXPECT_EQ(base, text(experiment(2)));
    EXPECT_NE(base, text(experiment(2), 2));
    EXPECT_NE(base, text(experiment(3)));
    const auto changed = [&](auto change) {
        auto e = experiment(2);
        change(e);
        return text(e) != base;
    };
    EXPECT_TRUE(changed([](Experiment& e) { e.decide.alpha = 0.01; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.exclude.steal = 0.02; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.exclude.throttled = true; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.decide.margin = 0.03; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.decide.primary = "ipcns-exit/backlog"; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.decide.looks = {6, 10}; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.decide.fixed = 32; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.decide.control = false; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.arms[1].name = "other"; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.workloads[0].iterations = 9; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.workloads[0].warmup = 9; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.workloads[0].profile.emplace(); }));
    EXPECT_TRUE(changed([](Experiment& e) { e.workloads[0].quantile = 0.99; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.workloads[0].sweep["tasks"].push_back(32); }));
    EXPECT_TRUE(changed([](Experiment& e) { e.workloads[0].with["bytes"] = 1; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.workloads[0].counters = {}; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.host.cpus = 8; }));
    EXPECT_TRUE(changed([](Experiment& e) { e.limits.run = std::chrono::seconds(1); }));
    EXPECT_FALSE(changed([](Experiment& e) { e.question = "why?"; }));
}

}  // namespace
}  // namespace kab
