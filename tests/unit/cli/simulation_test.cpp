#include "cli/simulation.h"

#include <gmock/gmock.h>

#include <cmath>

#include "common/json.h"
#include "daemon/report/document.h"
#include "daemon/spec/limits.h"
#include "daemon/spec/parse.h"
#include "daemon/stats/verdict.h"

namespace kab::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Of an experiment with 5 plain runs, 2 with counters and 3 with a profile, at two points, each judged by `score`.
Simulation simulation_of(const std::string& primary, const std::string& score = "mean", int iterations = 5) {
    const auto text = fmt::format(
        "experiment: sim\n"
        "kernel: {{source: {{image: vmlinuz}}}}\n"
        "arms:\n  base: {{}}\n  change: {{command_line: quiet}}\n"
        "workloads:\n"
        "  - workload: ipcns-exit\n"
        "    sweep: {{concurrency: [0, 1]}}\n"
        "    iterations: {}\n"
        "    score: {}\n"
        "    counters: [task-clock]\n"
        "    counter_iterations: 2\n"
        "    profile: {{iterations: 3, groups: {{lock: {{symbols: [\"*lock*\"], better: lower}}}}}}\n"
        "decide: {{primary: {}, margin: {}, looks: [6, 10]}}\n",
        // The margin of a share is a difference, not a ratio.
        iterations, score, primary, primary.find("share:") == std::string::npos ? "2%" : "0.02");
    const auto parsed = parse_experiment(text, "sim.yaml");
    EXPECT_TRUE(parsed) << parsed.error().front().text();
    return start(make_plan(parsed->experiment, 1));
}

TEST(Simulation, counts_the_runs_that_the_primary_is_measured_in) {
    EXPECT_EQ(simulation_of("ipcns-exit/elapsed").iterations, 5);
    EXPECT_EQ(simulation_of("ipcns-exit/backlog").iterations, 5);
    EXPECT_EQ(simulation_of("ipcns-exit/task-clock").iterations, 2);
    for (const char* metric : {"machine-busy", "drain-busy", "counted-elapsed"})
        EXPECT_EQ(simulation_of(std::string("ipcns-exit/") + metric).iterations, 2) << metric;
    EXPECT_EQ(simulation_of("ipcns-exit/share:lock").iterations, 3);
    EXPECT_EQ(simulation_of("ipcns-exit/elapsed").points, 2);
    EXPECT_EQ(simulation_of("ipcns-exit/elapsed").arms, 3) << "with the control";
    EXPECT_EQ(simulation_of("ipcns-exit/elapsed").input.comparisons, 1);
}

Spread measured(int iterations, std::optional<double> of_runs) {
    Spread spread;
    spread.evaluation = "01J";
    spread.blocks = 6;
    spread.points = 2;
    spread.iterations = iterations;
    spread.boot = .0001;
    spread.iteration = of_runs;
    return spread;
}

TEST(Simulation, takes_its_spread_from_what_is_given_then_from_earlier_then_assumes_it) {
    auto simulation = simulation_of("ipcns-exit/elapsed");
    ASSERT_TRUE(set_spread(simulation, {}, std::nullopt));
    EXPECT_EQ(simulation.boot.source, "assumed");
    EXPECT_NEAR(simulation.boot.sd, std::log(1.01), 1e-12);
    ASSERT_TRUE(set_spread(simulation, {}, measured(5, .0004)));
    EXPECT_EQ(simulation.boot.source, "evaluation 01J, 6 blocks");
    EXPECT_NEAR(simulation.input.sd, std::sqrt(2 * (.0001 + .0004 / (5 * 2))), 1e-12);
    ASSERT_TRUE(set_spread(simulation, {"3%", ""}, measured(5, .0004)));
    EXPECT_EQ(simulation.boot.source, "given");
    EXPECT_NEAR(simulation.boot.sd, std::log(1.03), 1e-12);
    EXPECT_NEAR(simulation.run.sd, .02, 1e-12);
    const auto wrong = set_spread(simulation, {"wide", ""}, std::nullopt);
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().text(), HasSubstr("--sd-boot: expected a share such as 2%, not 'wide'"));
}

TEST(Simulation, assumes_nothing_of_a_quantile) {
    auto simulation = simulation_of("ipcns-exit/elapsed", "p99");
    auto refused = set_spread(simulation, {}, std::nullopt);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("nothing is known of how the p99 of ipcns-exit/elapsed varies"));
    refused = set_spread(simulation, {"", "1%"}, std::nullopt);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("--sd-run: how runs vary does not tell"));
}

std::string told(Simulation simulation) {
    simulation.cases.push_back({0, stats::forecast(simulation.input)});
    auto text = report::plain(report::to_text(simulate_document(simulation)));
    for (auto& c : text)
        if (c == '\n') c = ' ';
    while (text.find("  ") != std::string::npos) text.replace(text.find("  "), 2, " ");
    return text;
}

TEST(Simulation, says_so_when_a_spread_was_measured_with_other_runs_and_cannot_be_carried_over) {
    auto tail = simulation_of("ipcns-exit/elapsed", "p99", 200);
    ASSERT_TRUE(set_spread(tail, {}, measured(5, std::nullopt)));
    EXPECT_THAT(told(tail),
                HasSubstr("How the p99 of a boot's runs varies was measured with 5 runs a boot, this has 200: "
                          "it may be quite otherwise"));
    EXPECT_THAT(told(tail), HasSubstr("; measured with 5 runs a boot, this has 200"));
    EXPECT_EQ(parse_json(simulate_json([&] {
                  auto one = tail;
                  one.cases.push_back({0, stats::forecast(one.input)});
                  return one;
              }()))
                  ->at("sd_boot")
                  .at("measured_with"),
              5);

    auto mean = simulation_of("ipcns-exit/elapsed");
    ASSERT_TRUE(set_spread(mean, {}, measured(1, std::nullopt)));
    EXPECT_THAT(told(mean),
                HasSubstr("measured with 1 run a boot, that of runs included, this has 5: they vary no more "
                          "than that, and perhaps less"));

    // The same number, or what can be told apart, or what is given, needs no such words.
    ASSERT_TRUE(set_spread(mean, {}, measured(5, .0004)));
    EXPECT_EQ(mean.other_iterations, 0);
    ASSERT_TRUE(set_spread(tail, {}, measured(200, std::nullopt)));
    EXPECT_EQ(tail.other_iterations, 0);
    EXPECT_THAT(told(tail), Not(HasSubstr("measured with")));
    ASSERT_TRUE(set_spread(tail, {"2%", ""}, measured(5, std::nullopt)));
    EXPECT_EQ(tail.other_iterations, 0);
}

TEST(Advice, ends_where_an_experiment_is_refused) {
    EXPECT_EQ(stats::most_declared_blocks, spec_limits::most_blocks);
}

}  // namespace
}  // namespace kab::cli
