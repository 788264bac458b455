#include "daemon/history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/history/nights_of.h"

namespace kab::history {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using State = Change::State;
using test::night_uid;

History history_of(const store::Store& store) {
    const auto records = gathered(store);
    const auto asked = questions(records, "nightly", {}, {}, {});
    EXPECT_TRUE(asked && asked->size() == 1);
    return find(asked->front(), records);
}

/// The one change of the one series.
Change change_of(const store::Store& store) {
    const auto history = history_of(store);
    EXPECT_THAT(history.series, SizeIs(1));
    EXPECT_THAT(history.series.at(0).changes, SizeIs(1));
    return history.series.at(0).changes.at(0);
}

/// An A/B of the kernels "patch-1" and "patch-2" in an experiment of its own.
Night trial(int day, double ratio, double half_width = .01) {
    Night night;
    night.day = day;
    night.experiment = "check-the-change";
    night.base = "patch-1";
    night.arm = "patch-2";
    night.base_name = "before";
    night.arm_name = "after";
    night.ratio = ratio;
    night.half_width = half_width;
    return night;
}

class Changed : public testing::Test {
  protected:
    /// Eight nights at .98, then `after` at 1.04 on another kernel.
    void changed(int after = 6) {
        nights(*database.store, 1, 8, .98, "patch-1");
        nights(*database.store, 9, 8 + after, 1.04, "patch-2");
    }
    test::EmptyDatabase database;
};

TEST_F(Changed, is_found_where_it_is_with_the_levels_of_both_sides) {
    changed();
    const auto change = change_of(*database.store);
    EXPECT_EQ(change.index, 8U);
    EXPECT_NEAR(change.before, std::log(.98), .003);
    EXPECT_NEAR(change.after, std::log(1.04), .003);
    EXPECT_EQ(change.before_n, 8U);
    EXPECT_EQ(change.after_n, 6U);
    EXPECT_LE(change.p, .01);
    EXPECT_EQ(change.worse, true);
    EXPECT_TRUE(change.arm_changed);
    EXPECT_FALSE(change.baseline_changed);
    EXPECT_THAT(change.surroundings_changed, IsEmpty());
}

TEST_F(Changed, is_a_suspicion_when_no_night_is_left_that_did_not_help_to_find_it) {
    nights(*database.store, 1, 12, .98, "patch-1");
    nights(*database.store, 13, 15, 1.04, "patch-2");
    const auto change = change_of(*database.store);
    EXPECT_EQ(change.state, State::suspected);
    EXPECT_EQ(change.found_at, night_uid(15));
    EXPECT_EQ(change.announced_at, "");
    EXPECT_FALSE(change.news);
}

TEST_F(Changed, is_held_by_a_later_night_and_still_not_announced) {
    nights(*database.store, 1, 12, .98, "patch-1");
    nights(*database.store, 13, 16, 1.04, "patch-2");
    const auto change = change_of(*database.store);
    EXPECT_EQ(change.state, State::held);
    EXPECT_EQ(change.found_at, night_uid(15));
    EXPECT_EQ(change.held_at, night_uid(16));
    EXPECT_EQ(change.announced_at, "");
}

TEST_F(Changed, is_not_held_by_a_night_whose_interval_has_the_old_level_in_it) {
    nights(*database.store, 1, 12, .98, "patch-1");
    nights(*database.store, 13, 15, 1.04, "patch-2");
    Night wide;
    wide.half_width = .2;
    nights(*database.store, 16, 16, 1.04, "patch-2", wide);
    EXPECT_EQ(change_of(*database.store).state, State::suspected);
}

TEST_F(Changed, is_announced_with_the_ab_that_confirms_it_and_known_from_then_on) {
    changed();
    add_night(*database.store, trial(15, 1.06));
    auto change = change_of(*database.store);
    EXPECT_EQ(change.state, State::confirmed);
    EXPECT_EQ(change.announced_at, night_uid(15));
    EXPECT_TRUE(change.news);
    ASSERT_THAT(change.trials, SizeIs(1));
    EXPECT_EQ(change.trials[0].result, Trial::Result::confirms);

    nights(*database.store, 16, 16, 1.04, "patch-2");
    change = change_of(*database.store);
    EXPECT_EQ(change.state, State::confirmed);
    EXPECT_EQ(change.announced_at, night_uid(15));
    EXPECT_FALSE(change.news);
}

TEST_F(Changed, is_announced_by_the_night_that_finds_it_when_the_ab_came_first) {
    changed(1);
    add_night(*database.store, trial(10, 1.06));
    nights(*database.store, 11, 13, 1.04, "patch-2");
    const auto change = change_of(*database.store);
    EXPECT_EQ(change.index, 8U);
    EXPECT_EQ(change.state, State::confirmed);
    EXPECT_EQ(change.announced_at, change.found_at);
    EXPECT_GT(change.announced_at, night_uid(10));
}

TEST_F(Changed, is_confirmed_by_an_ab_the_other_way_round) {
    changed();
    auto night = trial(15, 1 / 1.06);
    std::swap(night.base, night.arm);
    add_night(*database.store, night);
    const auto change = change_of(*database.store);
    EXPECT_EQ(change.state, State::confirmed);
    EXPECT_NEAR(change.trials.at(0).estimate, std::log(1.06), 1e-9);
}

TEST_F(Changed, is_refuted_by_an_ab_that_excludes_even_half_of_it) {
    changed();
    add_night(*database.store, trial(15, 1.001));
    const auto change = change_of(*database.store);
    EXPECT_EQ(change.state, State::refuted);
    EXPECT_EQ(change.announced_at, "");
}

TEST_F(Changed, is_left_open_by_an_ab_that_can_tell_neither) {
    changed();
    add_night(*database.store, trial(15, 1.03, .05));
    const auto change = change_of(*database.store);
    ASSERT_THAT(change.trials, SizeIs(1));
    EXPECT_EQ(change.trials[0].result, Trial::Result::open);
    EXPECT_NE(change.state, State::confirmed);
}

TEST_F(Changed, is_confirmed_by_no_ab_of_other_kernels_elsewhere_before_or_invalid) {
    add_night(*database.store, trial(0, 1.06));
    changed();
    auto other = trial(15, 1.06);
    other.arm = "patch-3";
    add_night(*database.store, other);
    auto elsewhere = trial(16, 1.06);
    elsewhere.accel = "tcg";
    add_night(*database.store, elsewhere);
    auto more = trial(17, 1.06);
    more.children = 2000;
    add_night(*database.store, more);
    auto options = trial(18, 1.06);
    options.command_line = "mitigations=off";
    add_night(*database.store, options);
    auto invalid = trial(19, 1.06);
    invalid.verdict = "invalid";
    add_night(*database.store, invalid);
    auto cancelled = trial(20, 1.06);
    cancelled.status = "cancelled";
    add_night(*database.store, cancelled);
    EXPECT_THAT(change_of(*database.store).trials, IsEmpty());
}

TEST_F(Changed, is_confirmed_by_no_night_that_helped_to_find_it) {
    // The baseline is the kernel before the change: every night after it compares the kernels of both sides.
    Night own;
    own.base = "main-1";
    nights(*database.store, 1, 12, 1, "main-1", own);
    nights(*database.store, 13, 15, 1.06, "patch-1", own);
    auto change = change_of(*database.store);
    EXPECT_EQ(change.found_at, night_uid(15));
    EXPECT_EQ(change.state, State::suspected);
    EXPECT_EQ(change.announced_at, "");
    EXPECT_THAT(change.trials, IsEmpty());

    nights(*database.store, 16, 16, 1.06, "patch-1", own);
    change = change_of(*database.store);
    EXPECT_EQ(change.state, State::confirmed);
    EXPECT_EQ(change.announced_at, night_uid(16));
    ASSERT_THAT(change.trials, SizeIs(1));
    EXPECT_EQ(change.trials[0].evaluation, night_uid(16));
}

TEST_F(Changed, is_not_confirmed_by_the_one_ab_of_many_that_found_it_by_chance) {
    changed();
    for (int day = 15; day <= 20; ++day) add_night(*database.store, trial(day, 1.001));
    add_night(*database.store, trial(21, 1.06));
    auto change = change_of(*database.store);
    ASSERT_THAT(change.trials, SizeIs(7));
    EXPECT_EQ(change.state, State::refuted);
    EXPECT_EQ(change.announced_at, "");
    EXPECT_FALSE(change.news);
    for (int day = 22; day <= 26; ++day) add_night(*database.store, trial(day, 1.06));
    EXPECT_NE(change_of(*database.store).state, State::confirmed) << "six of twelve are not more than half";
    add_night(*database.store, trial(27, 1.06));
    change = change_of(*database.store);
    EXPECT_EQ(change.state, State::confirmed);
    EXPECT_EQ(change.announced_at, night_uid(27));
    EXPECT_TRUE(change.news);
}

TEST_F(Changed, is_not_refuted_by_the_one_ab_of_many_that_missed_it) {
    changed();
    add_night(*database.store, trial(15, 1.03, .05));
    add_night(*database.store, trial(16, 1.001));
    EXPECT_EQ(change_of(*database.store).state, State::held);
}

TEST_F(Changed, once_announced_stays_so_and_may_be_refuted_by_what_comes_later) {
    changed();
    add_night(*database.store, trial(15, 1.06));
    add_night(*database.store, trial(16, 1.001));
    EXPECT_EQ(change_of(*database.store).state, State::confirmed);
    add_night(*database.store, trial(17, 1.001));
    const auto change = change_of(*database.store);
    EXPECT_EQ(change.state, State::refuted);
    EXPECT_EQ(change.announced_at, night_uid(15));
    EXPECT_FALSE(change.news);
}

TEST_F(Changed, is_no_news_once_anything_newer_of_the_experiment_has_ended) {
    changed();
    add_night(*database.store, trial(15, 1.06));
    EXPECT_TRUE(change_of(*database.store).news);
    Night failed;
    failed.day = 16;
    failed.status = "failed";
    failed.look = false;
    add_night(*database.store, failed);
    const auto change = change_of(*database.store);
    EXPECT_EQ(change.announced_at, night_uid(15));
    EXPECT_FALSE(change.news);
}

TEST_F(Changed, may_be_the_baselines) {
    nights(*database.store, 1, 8, .98, "patch-1");
    Night faster;
    faster.base = "main-2";
    nights(*database.store, 9, 14, 1.04, "patch-1", faster);
    auto change = change_of(*database.store);
    EXPECT_FALSE(change.arm_changed);
    EXPECT_TRUE(change.baseline_changed);

    // The ratio grew because its baseline shrank.
    auto night = trial(15, 1 / 1.06);
    night.base = "main-1";
    night.arm = "main-2";
    add_night(*database.store, night);
    change = change_of(*database.store);
    EXPECT_EQ(change.state, State::confirmed);
    EXPECT_TRUE(change.trials.at(0).baselines);
}

TEST_F(Changed, of_both_kernels_is_refuted_only_when_neither_makes_it) {
    nights(*database.store, 1, 8, .98, "patch-1");
    Night other;
    other.base = "main-2";
    nights(*database.store, 9, 14, 1.04, "patch-2", other);
    add_night(*database.store, trial(15, 1.001));
    EXPECT_EQ(change_of(*database.store).state, State::held);
    auto baselines = trial(16, .999);
    baselines.base = "main-1";
    baselines.arm = "main-2";
    add_night(*database.store, baselines);
    EXPECT_EQ(change_of(*database.store).state, State::refuted);
}

TEST_F(Changed, with_the_same_kernels_on_both_sides_names_what_else_changed) {
    nights(*database.store, 1, 8, .98, "patch-1");
    Night newer;
    newer.emulator = "QEMU 8.0.0";
    nights(*database.store, 9, 14, 1.04, "patch-1", newer);
    const auto change = change_of(*database.store);
    EXPECT_FALSE(change.arm_changed || change.baseline_changed);
    EXPECT_THAT(change.surroundings_changed, ElementsAre("emulator: QEMU 7.2.22 -> QEMU 8.0.0"));
}

TEST(History, compares_linear_metrics_by_their_differences) {
    test::EmptyDatabase database;
    Night linear;
    linear.linear = true;
    linear.half_width = 1;
    nights(*database.store, 1, 8, -100, "patch-1", linear);
    nights(*database.store, 9, 14, 200, "patch-2", linear);
    const auto change = change_of(*database.store);
    EXPECT_NEAR(change.before, -100, 1);
    EXPECT_NEAR(change.after, 200, 1);
}

TEST(History, never_mixes_machines_or_parameters_in_one_series) {
    test::EmptyDatabase database;
    nights(*database.store, 1, 3, .98, "patch-1");
    Night emulated;
    emulated.accel = "tcg";
    nights(*database.store, 4, 5, 1.5, "patch-1", emulated);
    Night more;
    more.children = 2000;
    nights(*database.store, 6, 7, 2, "patch-1", more);
    nights(*database.store, 8, 8, .98, "patch-1");
    const auto history = history_of(*database.store);
    ASSERT_THAT(history.series, SizeIs(3));
    EXPECT_THAT(history.series[0].setting, HasSubstr("emulated (tcg)"));
    EXPECT_TRUE(history.series[0].emulated);
    EXPECT_THAT(history.series[1].setting, HasSubstr("children=2000"));
    EXPECT_THAT(history.series[2].values, SizeIs(4));  // the newest evaluation's comes last
}

TEST(History, keeps_its_series_when_a_metric_gets_a_direction) {
    test::EmptyDatabase database;
    nights(*database.store, 1, 8, .98, "patch-1");
    nights(*database.store, 9, 14, 1.04, "patch-2");
    auto records = gathered(*database.store);
    for (auto& record : records)
        if (record.tree.evaluation.uid < night_uid(12)) record.tree.metrics.at(0).better = "neither";
    const auto history = find({"nightly", "patched", "ipcns-exit", "elapsed", ""}, records);
    ASSERT_THAT(history.series, SizeIs(1));
    EXPECT_THAT(history.series[0].values, SizeIs(14));
    EXPECT_EQ(history.series[0].better, Better::lower) << "as the newest evaluation has it";
    ASSERT_THAT(history.series[0].changes, SizeIs(1));
    EXPECT_EQ(history.series[0].changes[0].worse, true);
}

TEST(History, never_mixes_scores_or_what_varies_in_exact_mode_in_one_series) {
    test::EmptyDatabase database;
    nights(*database.store, 1, 3, .98, "patch-1");
    Night tail;
    tail.score = "p99";
    nights(*database.store, 4, 5, 1.5, "patch-1", tail);
    Night exact;
    exact.accel = "tcg";
    exact.exact = true;
    nights(*database.store, 6, 7, 1, "patch-1", exact);
    exact.vary_layout = true;
    nights(*database.store, 8, 9, 1, "patch-1", exact);
    const auto history = history_of(*database.store);
    ASSERT_THAT(history.series, SizeIs(4));
    EXPECT_THAT(history.series[1].setting, HasSubstr(" score=p99"));
    EXPECT_THAT(history.series[2].setting, HasSubstr("exact mode (timer varies)"));
    EXPECT_THAT(history.series[3].setting, HasSubstr("exact mode (timer and layout vary)"));
}

TEST(History, never_mixes_shares_of_all_samples_and_of_the_kernels_in_one_series) {
    test::EmptyDatabase database;
    Night share;
    share.group = "spinlock";
    share.linear = true;
    nights(*database.store, 1, 4, .1, "patch-1", share);
    share.group_of = "all";
    nights(*database.store, 5, 8, .1, "patch-1", share);
    share.group_of = "kernel";
    nights(*database.store, 9, 16, .3, "patch-1", share);
    const auto history = history_of(*database.store);
    ASSERT_THAT(history.series, SizeIs(2));
    EXPECT_THAT(history.series[0].values, SizeIs(8));
    EXPECT_THAT(history.series[0].setting, Not(HasSubstr("of=")));
    EXPECT_THAT(history.series[1].setting, EndsWith(" of=kernel"));
    for (const auto& series : history.series) EXPECT_THAT(series.changes, IsEmpty());
}

TEST(History, leaves_out_what_does_not_count_and_says_why) {
    test::EmptyDatabase database;
    nights(*database.store, 1, 1, .98, "patch-1");
    Night failed;
    failed.status = "failed";
    failed.detail = "arm patched: no rule to make target";
    failed.look = false;
    nights(*database.store, 2, 2, .98, "patch-1", failed);
    Night invalid;
    invalid.verdict = "invalid";
    nights(*database.store, 3, 3, .98, "patch-1", invalid);
    Night early;
    early.look = false;
    nights(*database.store, 4, 4, .98, "patch-1", early);
    Night renamed;
    renamed.arm_name = "other";
    nights(*database.store, 5, 5, .98, "patch-1", renamed);
    const auto records = gathered(*database.store);
    const auto history = find({"nightly", "patched", "ipcns-exit", "elapsed", ""}, records);
    ASSERT_THAT(history.series, SizeIs(1));
    EXPECT_THAT(history.series[0].values, SizeIs(1));
    std::vector<std::string> reasons;
    for (const auto& left : history.left_out) reasons.push_back(left.reason);
    EXPECT_THAT(reasons,
                ElementsAre("failed: arm patched: no rule to make target", "invalid: the control differs from its twin",
                            "it ended before its first look", "it has no arm patched"));
}

}  // namespace
}  // namespace kab::history
