// What `kab history` prints, compared with tests/golden/history. After a wanted change: KAB_UPDATE_GOLDEN=1 test_cli,
// then read the difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/history_report.h"
#include "common/json.h"
#include "daemon/history/gather.h"
#include "daemon/spec/parse.h"
#include "tests/support/database/nights.h"

namespace kab::cli {
namespace {

using test::add_night;
using test::Night;
using test::night_uid;
using testing::HasSubstr;

void nights(store::Store& store, int first, int last, double ratio, const Night& like) {
    for (int day = first; day <= last; ++day) {
        Night night = like;
        night.day = day;
        night.ratio = ratio + .002 * (day % 3);
        night.verdict = ratio < 1 ? "improved" : "regressed";
        if (like.verdict == "invalid") night.verdict = "invalid";
        add_night(store, night);
    }
}

Night with(void (*change)(Night&)) {
    Night night;
    change(night);
    return night;
}

/// Nine nights on one kernel, five on another, one that failed and one that is invalid.
void fill_changed(store::Store& store) {
    nights(store, 1, 9, .96, {});
    nights(store, 10, 10, .96, with([](Night& n) {
               n.status = "failed";
               n.detail = "arm patched: ipc/namespace.c:162:9: error: implicit declaration of function 'schedule_wrok'";
               n.look = false;
           }));
    nights(store, 11, 15, 1.02, with([](Night& n) { n.arm = "patch-2"; }));
    nights(store, 16, 16, 1.02, with([](Night& n) { n.verdict = "invalid"; }));
}

/// An A/B of the two kernels.
void confirm(store::Store& store, int day, double ratio) {
    Night night;
    night.day = day;
    night.experiment = "nightly.confirm";
    night.base = "patch-1";
    night.arm = "patch-2";
    night.base_name = "before";
    night.arm_name = "after";
    night.ratio = ratio;
    add_night(store, night);
}

struct Told {
    std::vector<history::Record> records;
    std::vector<history::History> histories;
};

Told told(const store::Store& store) {
    Told told;
    told.records = *history::gather(store, "nightly");
    auto questions = *history::questions(told.records, "nightly", {}, {}, {});
    if (questions.empty()) questions.push_back({"nightly", "", "", "", ""});
    for (const auto& question : questions) told.histories.push_back(history::find(question, told.records));
    return told;
}

void expect_golden(const std::string& text, const std::string& name) {
    const auto file = fs::path(KAB_SOURCE_DIR) / "tests" / "golden" / "history" / name;
    if (std::getenv("KAB_UPDATE_GOLDEN") != nullptr) {
        ASSERT_TRUE(make_directories(file.parent_path()));
        ASSERT_TRUE(write_file(file, text));
    }
    const auto golden = read_file(file);
    ASSERT_TRUE(golden) << golden.error().text();
    EXPECT_EQ(text, *golden);
}

void expect_text(const store::Store& store, const std::string& name) {
    expect_golden(history_text(told(store).histories, 78), name + ".txt");
}

TEST(HistoryText, of_a_suspected_change_says_how_to_confirm_it) {
    test::EmptyDatabase database;
    fill_changed(*database.store);
    expect_text(*database.store, "open");
    expect_golden(history_json("nightly", told(*database.store).histories), "open.json");
}

TEST(HistoryText, of_a_confirmed_change_is_news_once) {
    test::EmptyDatabase database;
    fill_changed(*database.store);
    confirm(*database.store, 17, 1.06);
    expect_text(*database.store, "confirmed");
    nights(*database.store, 18, 18, 1.02, with([](Night& n) { n.arm = "patch-2"; }));
    expect_text(*database.store, "known");
}

TEST(HistoryText, of_a_refuted_change_announces_nothing) {
    test::EmptyDatabase database;
    fill_changed(*database.store);
    confirm(*database.store, 17, 1.002);
    expect_text(*database.store, "refuted");
}

TEST(HistoryText, of_a_change_without_another_kernel_names_what_changed) {
    test::EmptyDatabase database;
    nights(*database.store, 1, 8, .96, {});
    nights(*database.store, 9, 14, 1.02, with([](Night& n) { n.emulator = "QEMU 8.0.0"; }));
    expect_text(*database.store, "surroundings");
}

TEST(HistoryText, of_other_machines_and_baselines_tells_them_apart) {
    test::EmptyDatabase database;
    nights(*database.store, 1, 2, .96, with([](Night& n) { n.accel = "tcg"; }));
    nights(*database.store, 3, 4, .96, {});
    nights(*database.store, 5, 6, 1.02, with([](Night& n) { n.base = "main-2"; }));
    expect_text(*database.store, "settings");
}

TEST(HistoryText, of_linear_metrics_has_differences) {
    test::EmptyDatabase database;
    const auto linear = with([](Night& n) {
        n.linear = true;
        n.half_width = 1e6;
    });
    nights(*database.store, 1, 8, -12e6, linear);
    nights(*database.store, 9, 14, 3e6, linear);
    expect_text(*database.store, "linear");
}

TEST(HistoryText, of_one_evaluation_or_none_makes_no_claim) {
    test::EmptyDatabase database;
    add_night(*database.store, with([](Night& n) { n.look = false; }));
    expect_text(*database.store, "none");
    nights(*database.store, 2, 2, .96, {});
    expect_text(*database.store, "one");
}

TEST(ConfirmingExperiment, is_one_that_kab_accepts_and_boots_both_kernels) {
    test::EmptyDatabase database;
    fill_changed(*database.store);
    const auto history = told(*database.store);
    const auto& series = history.histories.at(0).series.at(0);
    ASSERT_EQ(series.changes.size(), 1U);
    const auto& first = series.values[series.changes[0].index].evaluation;
    const auto record = std::find_if(history.records.begin(), history.records.end(),
                                     [&](const auto& r) { return r.tree.evaluation.uid == first; });
    const auto text = confirming_experiment(series, series.changes[0], *record);
    ASSERT_TRUE(text) << text.error().text();
    expect_golden(*text, "confirm.yaml");
    const auto parsed = parse_experiment(*text, "confirm.yaml");
    ASSERT_TRUE(parsed) << parsed.error().front().text();
}

TEST(ConfirmingExperiment, profiles_as_the_evaluation_did) {
    test::EmptyDatabase database;
    fill_changed(*database.store);
    const auto history = told(*database.store);
    const auto& series = history.histories.at(0).series.at(0);
    const auto& first = series.values[series.changes.at(0).index].evaluation;
    auto record = *std::find_if(history.records.begin(), history.records.end(),
                                [&](const auto& r) { return r.tree.evaluation.uid == first; });
    auto experiment = parse_json(record.tree.evaluation.experiment_json).value();
    experiment["workloads"][0]["profile"] = Json::parse(R"({"frequency": 499, "iterations": 2, "groups": [
            {"name": "spin", "symbols": ["_raw_spin_lock"], "callers": []},
            {"name": "ipc", "symbols": ["*lock"], "callers": ["ipc_*"], "better": "higher", "of": "kernel"}]})");
    record.tree.evaluation.experiment_json = dump_json(experiment);
    const auto text = confirming_experiment(series, series.changes[0], record);
    ASSERT_TRUE(text) << text.error().text();
    const auto parsed = parse_experiment(*text, "confirm.yaml");
    ASSERT_TRUE(parsed) << parsed.error().front().text();
    const auto& profile = parsed->experiment.workloads.at(0).profile;
    ASSERT_TRUE(profile) << *text;
    EXPECT_EQ(profile->frequency_hz, 499);
    ASSERT_EQ(profile->groups.size(), 2U);
    EXPECT_EQ(profile->groups[0].name, "ipc");
    EXPECT_THAT(profile->groups[0].callers, testing::ElementsAre("ipc_*"));
    EXPECT_EQ(profile->groups[0].better, Better::higher);
    EXPECT_TRUE(profile->groups[0].of_kernel);
    EXPECT_FALSE(profile->groups[1].of_kernel);
    EXPECT_EQ(profile->groups[1].better, Better::neither);
    EXPECT_THAT(profile->groups[1].callers, testing::IsEmpty());
}

/// What kab reads in the experiment that confirms the change, had the one after it been declared like this.
Experiment confirming(const Json& as_declared) {
    test::EmptyDatabase database;
    fill_changed(*database.store);
    const auto history = told(*database.store);
    const auto& series = history.histories.at(0).series.at(0);
    const auto& first = series.values[series.changes.at(0).index].evaluation;
    auto record = *std::find_if(history.records.begin(), history.records.end(),
                                [&](const auto& r) { return r.tree.evaluation.uid == first; });
    auto experiment = parse_json(record.tree.evaluation.experiment_json).value();
    experiment.merge_patch(as_declared);
    record.tree.evaluation.experiment_json = dump_json(experiment);
    const auto text = confirming_experiment(series, series.changes[0], record);
    EXPECT_TRUE(text) << text.error().text();
    const auto parsed = parse_experiment(*text, "confirm.yaml");
    EXPECT_TRUE(parsed) << *text << parsed.error().front().text();
    return parsed ? parsed->experiment : Experiment{};
}

TEST(ConfirmingExperiment, of_exact_mode_has_its_margin_of_nothing_and_what_varies) {
    const auto with_vary = [](bool timer, bool layout) {
        return confirming(
            {{"host", {{"cpus", 1}, {"accel", "tcg"}, {"exact", true}, {"vary_timer", timer}, {"vary_layout", layout}}},
             {"decide", {{"margin", 0.0}}}});
    };
    const auto both = with_vary(true, true);
    EXPECT_TRUE(both.host.exact);
    EXPECT_EQ(both.decide.margin, 0);
    EXPECT_TRUE(both.host.vary_timer && both.host.vary_layout);
    const auto none = with_vary(false, false);
    EXPECT_FALSE(none.host.vary_timer || none.host.vary_layout);
}

TEST(ConfirmingExperiment, keeps_limits_exclusions_and_controls) {
    const auto usual = confirming(Json::object());
    EXPECT_TRUE(usual.decide.control);
    const auto experiment = confirming({{"exclude", {{"host-load", 0.5}, {"steal", 0.02}, {"throttled", true}}},
                                        {"limits",
                                         {{"boot_ns", 1500000000},
                                          {"run_ns", 90000000000},
                                          {"block_ns", 1800000000000},
                                          {"evaluation_ns", 7200000000000},
                                          {"build_ns", 3600000000000}}},
                                        {"decide", {{"control", false}}}});
    EXPECT_EQ(experiment.exclude.host_load, 0.5);
    EXPECT_EQ(experiment.exclude.steal, 0.02);
    EXPECT_FALSE(experiment.exclude.run_delay);
    EXPECT_TRUE(experiment.exclude.throttled);
    EXPECT_EQ(experiment.limits.boot, std::chrono::milliseconds(1500));
    EXPECT_EQ(experiment.limits.run, std::chrono::seconds(90));
    EXPECT_EQ(experiment.limits.block, std::chrono::minutes(30));
    EXPECT_EQ(experiment.limits.evaluation, std::chrono::hours(2));
    EXPECT_EQ(experiment.limits.build, std::chrono::hours(1));
    EXPECT_FALSE(experiment.decide.control);
    // The kernels that are booted again are built already: no code of theirs can be moved.
    EXPECT_FALSE(confirming({{"decide", {{"relink", true}}}}).decide.relink);
}

TEST(ConfirmingExperiment, there_is_none_where_the_kernels_are_the_same) {
    test::EmptyDatabase database;
    nights(*database.store, 1, 8, .96, {});
    nights(*database.store, 9, 14, 1.02, {});
    const auto history = told(*database.store);
    const auto& series = history.histories.at(0).series.at(0);
    ASSERT_EQ(series.changes.size(), 1U);
    const auto text = confirming_experiment(series, series.changes[0], history.records.at(8));
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().fault, Fault::usage);
    EXPECT_THAT(text.error().text(), HasSubstr("booted the same kernels"));
}

}  // namespace
}  // namespace kab::cli
