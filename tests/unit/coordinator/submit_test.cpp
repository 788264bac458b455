#include "daemon/coordinator/submit.h"

#include <gtest/gtest.h>

#include <set>

#include "daemon/spec/experiment_json.h"

#include "tests/unit/coordinator/two_arms.h"

namespace kab {
namespace {

TEST(PlanHash, CoversWhatDecidesAndNotWhereFilesLie) {
    const auto hash = [](const Experiment& experiment, std::uint64_t seed = 7, const std::string& kernel = "k2",
                         const std::string& agent = "agent", const std::string& emulator = "7.2.1",
                         const std::string& shell = "busybox") {
        return plan_hash(make_plan(experiment, seed), {"k1", kernel}, agent, emulator, shell);
    };
    const auto base = two_arms();
    auto moved = base;
    moved.arms[1].kernel.patches = {"/elsewhere/a.patch"};  // its content is in the kernel's key
    EXPECT_EQ(hash(moved), hash(base));
    EXPECT_EQ(hash(base, 7, "k2", "agent", "7.2.1", "another"), hash(base)) << "no workload needs a shell";

    auto other_line = base, other_margin = base, other_looks = base, other_name = base;
    other_line.arms[1].kernel.command_line = "nosmt";
    other_margin.decide.margin = 0.01;
    other_looks.decide.looks = {6, 10};
    other_name.arms[1].name = "changed";
    auto checks = base, debug = base, exclude = base, score = base, exact = base, vary = base, relink = base,
         no_control = base, shell = base;
    exclude.exclude.steal = 0.02;
    checks.checks = debug.checks = {{"ipcns-check", {{"namespaces", 5}, {"rounds", 5}}, false}};
    debug.debug.config = {"/debug.config"};
    score.workloads[0].quantile = 0.99;
    exact.host.exact = vary.host.exact = true;
    vary.host.vary_layout = !vary.host.vary_layout;
    relink.decide.relink = true;
    no_control.decide.control = false;
    shell.workloads[0].workload = "shell";
    const std::set<std::string> all{hash(exclude),
                                    hash(checks),
                                    hash(debug),
                                    hash(score),
                                    hash(exact),
                                    hash(vary),
                                    hash(relink),
                                    hash(no_control),
                                    hash(shell),
                                    hash(shell, 7, "k2", "agent", "7.2.1", "another"),
                                    hash(base),
                                    hash(other_line),
                                    hash(other_margin),
                                    hash(other_looks),
                                    hash(other_name),
                                    hash(base, 8),
                                    hash(base, 7, "k3"),
                                    hash(base, 7, "k2", "agent 2"),
                                    hash(base, 7, "k2", "agent", "7.2.2")};
    EXPECT_EQ(all.size(), 19U);
}

TEST(NewEvaluation, DeclaresWhatAProfiledIterationMeasures) {
    auto experiment = two_arms();
    auto& workload = experiment.workloads.at(0);
    workload.profile.emplace();
    workload.profile->groups = {{"spin", {"_raw_spin_lock"}, {}, Better::lower},
                                {"ipc", {"*lock"}, {"ipc_*"}, Better::neither}};
    const auto row = new_evaluation("uid", {}, make_plan(experiment, 7), to_json(experiment));
    std::vector<std::string> found;
    for (const auto& metric : row.metrics) {
        if (!metric.name.starts_with("share:") && metric.name != "profile-samples") continue;
        found.push_back(metric.name);
        EXPECT_EQ(metric.workload, workload.workload);
        EXPECT_EQ(metric.unit, "1");
        EXPECT_EQ(metric.better, metric.name == "share:spin" ? "lower" : "neither");
        EXPECT_EQ(metric.scale, metric.name == "profile-samples" ? "log" : "linear");
    }
    EXPECT_EQ(found, (std::vector<std::string>{"share:spin", "share:ipc", "profile-samples"}));
}

}  // namespace
}  // namespace kab
