#include "cli/earlier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cli/simulate_report.h"
#include "daemon/report/report.h"
#include "tests/support/database/sample_database.h"

namespace kab::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* metric = "elapsed";
constexpr const char* workload = "ipcns-exit";

std::string experiment_of(const store::Store& store) {
    return store.find_evaluation(test::sample_evaluation())->experiment;
}

TEST(Earlier, tells_the_spread_of_boots_and_runs_and_the_time_of_a_boot) {
    const test::SampleDatabase database;
    const auto earlier = find_earlier(*database.store, {"", experiment_of(*database.store), workload, metric, {}});
    ASSERT_TRUE(earlier) << earlier.error().text();
    const auto report = report::gather(*database.store, test::sample_evaluation());
    ASSERT_TRUE(report);
    const auto& components = report->output.components.front();
    ASSERT_TRUE(earlier->spread);
    EXPECT_EQ(earlier->spread->evaluation, test::sample_evaluation());
    EXPECT_EQ(earlier->spread->blocks, 6);
    EXPECT_EQ(earlier->spread->points, 1);
    EXPECT_EQ(earlier->spread->iterations, 5);
    EXPECT_DOUBLE_EQ(earlier->spread->boot, *components.boot);
    EXPECT_DOUBLE_EQ(*earlier->spread->iteration, *components.iteration);
    ASSERT_TRUE(earlier->time);
    EXPECT_EQ(earlier->time->boots, 24);
    double sum = 0;
    int boots = 0;
    for (const auto& boot : report->boots)
        if (boot.outcome == "ok" && boot.block_status == "complete") {
            sum += static_cast<double>(boot.setup_ns + boot.hello_ns + boot.work_ns + boot.teardown_ns);
            ++boots;
        }
    EXPECT_EQ(boots, earlier->time->boots);
    EXPECT_NEAR(static_cast<double>(earlier->time->mean.count()), sum / boots, 1);
    EXPECT_GT(sum, 0);
}

TEST(Earlier, takes_the_newest_that_has_what_is_looked_for) {
    test::SampleDatabase database;
    test::SampleOptions one_block;
    one_block.number = 2;
    one_block.blocks = 1;
    one_block.interrupted_block = false;
    one_block.status = "running";
    test::fill(*database.store, one_block);
    const auto earlier = find_earlier(*database.store, {"", experiment_of(*database.store), workload, metric, {}});
    ASSERT_TRUE(earlier) << earlier.error().text();
    ASSERT_TRUE(earlier->spread);
    EXPECT_EQ(earlier->spread->evaluation, test::sample_evaluation(1));
    const auto asked = find_earlier(*database.store, {test::sample_evaluation(2), "", workload, metric, {}});
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().fault, Fault::not_found);
    EXPECT_THAT(asked.error().text(), HasSubstr("does not tell how ipcns-exit/elapsed varies"));
}

TEST(Earlier, takes_the_mean_over_points) {
    test::SampleOptions swept;
    swept.swept = true;
    const test::SampleDatabase database(swept);
    const auto earlier = find_earlier(*database.store, {"last", "", workload, metric, {}});
    ASSERT_TRUE(earlier) << earlier.error().text();
    EXPECT_EQ(earlier->spread->points, 2);
    EXPECT_GT(earlier->spread->boot, 0);
}

TEST(Earlier, with_one_run_a_boot_has_the_two_together) {
    test::SampleOptions once;
    once.iterations = 1;
    const test::SampleDatabase database(once);
    const auto earlier = find_earlier(*database.store, {"last", "", workload, metric, {}});
    ASSERT_TRUE(earlier) << earlier.error().text();
    EXPECT_FALSE(earlier->spread->iteration);
}

TEST(Earlier, of_a_quantile_has_the_spread_of_the_scores_of_boots) {
    test::SampleOptions tail;
    tail.score = "p99";
    const test::SampleDatabase database(tail);
    Wanted wanted{"", experiment_of(*database.store), workload, metric, {}};
    wanted.quantile = 0.99;
    const auto earlier = find_earlier(*database.store, wanted);
    ASSERT_TRUE(earlier) << earlier.error().text();
    ASSERT_TRUE(earlier->spread);
    EXPECT_FALSE(earlier->spread->iteration);
    EXPECT_GT(earlier->spread->boot, 0);

    // Of one run the quantile is the run, and so is the mean.
    tail.iterations = 1;
    const test::SampleDatabase one(tail);
    test::SampleOptions mean;
    mean.iterations = 1;
    const test::SampleDatabase other(mean);
    const auto of_quantile = find_earlier(*one.store, wanted);
    const auto of_mean = find_earlier(*other.store, {"last", "", workload, metric, {}});
    ASSERT_TRUE(of_quantile && of_mean && of_quantile->spread);
    EXPECT_DOUBLE_EQ(of_quantile->spread->boot, of_mean->spread->boot);
}

TEST(Earlier, takes_no_spread_of_another_score_or_from_outside_exact_mode) {
    test::SampleDatabase database;
    test::SampleOptions tail;
    tail.number = 2;
    tail.score = "p99";
    test::fill(*database.store, tail);
    Wanted wanted{"", experiment_of(*database.store), workload, metric, {}};
    auto earlier = find_earlier(*database.store, wanted);
    ASSERT_TRUE(earlier) << earlier.error().text();
    ASSERT_TRUE(earlier->spread);
    EXPECT_EQ(earlier->spread->evaluation, test::sample_evaluation(1));
    EXPECT_EQ(earlier->time->evaluation, test::sample_evaluation(2));
    wanted.exact = true;
    earlier = find_earlier(*database.store, wanted);
    ASSERT_TRUE(earlier) << earlier.error().text();
    EXPECT_FALSE(earlier->spread);

    wanted.from = test::sample_evaluation(2);
    EXPECT_THAT(find_earlier(*database.store, wanted).error().text(), HasSubstr("was not measured in exact mode"));
    wanted.exact = false;
    EXPECT_THAT(find_earlier(*database.store, wanted).error().text(),
                HasSubstr("judged boots by the p99 of ipcns-exit/elapsed, this experiment does by the mean"));
}

TEST(Earlier, takes_no_spread_of_a_share_of_other_samples) {
    test::SampleOptions of_kernel;
    of_kernel.profile_iterations = 1;
    of_kernel.of_kernel = true;
    const test::SampleDatabase database(of_kernel);
    test::SampleOptions of_all;
    of_all.number = 2;
    of_all.profile_iterations = 1;
    test::fill(*database.store, of_all);
    Wanted wanted{"", experiment_of(*database.store), workload, "share:spinlock", {}};
    wanted.of_kernel = true;
    auto earlier = find_earlier(*database.store, wanted);
    ASSERT_TRUE(earlier) << earlier.error().text();
    ASSERT_TRUE(earlier->spread);
    EXPECT_EQ(earlier->spread->evaluation, test::sample_evaluation(1));
    wanted.of_kernel = false;
    earlier = find_earlier(*database.store, wanted);
    ASSERT_TRUE(earlier && earlier->spread);
    EXPECT_EQ(earlier->spread->evaluation, test::sample_evaluation(2));
    wanted.from = test::sample_evaluation(1);
    EXPECT_THAT(find_earlier(*database.store, wanted).error().text(),
                HasSubstr("has ipcns-exit/share:spinlock of the kernel's samples, this experiment has it of all"));
}

TEST(Earlier, passes_over_an_evaluation_that_cannot_be_read) {
    test::SampleDatabase database;
    const auto written = database.store->write([&](store::Writer& writer) {
        store::NewEvaluation other;
        other.uid = test::sample_evaluation(9);
        other.experiment = experiment_of(*database.store);
        other.spec_text = other.plan_text = "-";
        other.spec_hash = other.plan_hash = std::string(64, 'a');
        other.experiment_json = "{}";
        other.arms.push_back({"main", "", false, "measured", "{}"});
        return writer.add_evaluation(other, INT64_C(4000000000000000000));
    });
    ASSERT_TRUE(written) << written.error().text();
    ASSERT_FALSE(report::gather(*database.store, test::sample_evaluation(9)));
    const auto earlier = find_earlier(*database.store, {"", experiment_of(*database.store), workload, metric, {}});
    ASSERT_TRUE(earlier) << earlier.error().text();
    ASSERT_TRUE(earlier->spread);
    EXPECT_EQ(earlier->spread->evaluation, test::sample_evaluation(1));
}

TEST(Earlier, says_so_when_the_database_cannot_be_read) {
    test::SampleDatabase database;
    const auto experiment = experiment_of(*database.store);
    database.store.reset();
    const auto whole = read_file(database.file());
    ASSERT_TRUE(whole) << whole.error().text();
    // From somewhere on nothing is left. The list of evaluations stands before what they have measured.
    int damaged = 0;
    for (std::size_t eighths = 1; eighths < 8; ++eighths) {
        const auto directory = *TempDir::make("kab-damaged-");
        const auto file = directory.path() / "kab.db";
        std::string bytes = *whole;
        constexpr std::size_t page = 4096;
        const std::size_t kept = bytes.size() / 8 * eighths / page * page;
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(kept), bytes.end(), '\0');
        ASSERT_TRUE(write_file(file, bytes));
        const auto store = store::Store::open(file, store::Store::Mode::read_only);
        if (!store || !(*store)->evaluations()) continue;
        const auto report = report::gather(**store, test::sample_evaluation());
        if (report || report.error().fault != Fault::io) continue;
        ++damaged;
        const auto earlier = find_earlier(**store, {"", experiment, workload, metric, {}});
        ASSERT_FALSE(earlier) << eighths;
        EXPECT_EQ(earlier.error().fault, Fault::io) << earlier.error().text();
    }
    EXPECT_GT(damaged, 0);
}

TEST(Earlier, knows_nothing_of_other_experiments) {
    const test::SampleDatabase database;
    const auto earlier = find_earlier(*database.store, {"", "another", workload, metric, {}});
    ASSERT_TRUE(earlier);
    EXPECT_FALSE(earlier->spread);
    EXPECT_FALSE(earlier->time);
    EXPECT_FALSE(find_earlier(*database.store, {"01NOSUCH", "", workload, metric, {}}));
}

TEST(Earlier, takes_the_time_of_booting_from_another_experiment_with_such_kernels) {
    const test::SampleDatabase database;
    const auto json = parse_json(database.store->find_evaluation("last")->experiment_json);
    ASSERT_TRUE(json);
    const auto machines = machines_of(*json);
    ASSERT_EQ(machines.size(), 3U);
    const auto earlier = find_earlier(*database.store, {"", "another", "w", "m", machines});
    ASSERT_TRUE(earlier) << earlier.error().text();
    EXPECT_FALSE(earlier->spread);
    ASSERT_TRUE(earlier->time);
    EXPECT_TRUE(earlier->time->without_runs);
    EXPECT_EQ(earlier->time->boots, 24);
    const auto same = find_earlier(*database.store, {"", experiment_of(*database.store), workload, metric, machines});
    ASSERT_TRUE(same);
    EXPECT_FALSE(same->time->without_runs);
    EXPECT_LT(earlier->time->mean, same->time->mean);

    Json other = *json;
    other["host"]["cpus"] = 64;
    const auto elsewhere = find_earlier(*database.store, {"", "another", "w", "m", machines_of(other)});
    ASSERT_TRUE(elsewhere);
    EXPECT_FALSE(elsewhere->time) << "another machine";
}

TEST(SimulateReport, gives_times_where_boots_were_timed) {
    Simulation simulation;
    simulation.experiment = "e";
    simulation.primary = "w/m";
    simulation.arms = 3;
    simulation.input.design.looks = {6, 10};
    simulation.input.sd = 0.01;
    simulation.cases.push_back({0, stats::forecast(simulation.input)});
    EXPECT_THAT(report::to_text(simulate_document(simulation)), HasSubstr("How long that takes is unknown"));
    simulation.time = BootTime{"01J", "local", "kvm", 12, std::chrono::seconds(2), false};
    EXPECT_EQ(time_of(simulation, 10), std::chrono::seconds(60));
    const auto text = report::to_text(simulate_document(simulation));
    EXPECT_THAT(text, HasSubstr("(30 boots, about 1m 00s)"));
    EXPECT_THAT(text, HasSubstr("2.0s, the mean of 12 boots of evaluation 01J (local, kvm)"));
    EXPECT_THAT(text, Not(HasSubstr("unknown")));
    EXPECT_THAT(simulate_json(simulation), HasSubstr("\"time_ns\":36000000000"));
    simulation.time->without_runs = true;
    const auto booting = report::to_text(simulate_document(simulation));
    EXPECT_THAT(booting, HasSubstr("(30 boots, more than 1m 00s)"));
    EXPECT_THAT(booting, HasSubstr("those of booting alone, from another experiment"));
}

}  // namespace
}  // namespace kab::cli
