// Profiles of the arms beside each other.
#include "daemon/report/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using test::changed;
using test::SampleOptions;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t inline_free = 0, per_ns_work = 1, deferred_free = 2;

store::ProfileRow row(const std::string& arm, std::int64_t block, const std::string& symbol, double share,
                      const std::string& caller = "", const std::string& point = "") {
    return {arm, "ipcns-exit", point, symbol, caller, block, 100, share};
}

/// Six blocks in which inline-free and deferred-free spend these shares in `symbol`, the rest elsewhere.
std::vector<store::ProfileRow> rows_of(const std::string& symbol, const std::vector<double>& before,
                                       const std::vector<double>& after) {
    std::vector<store::ProfileRow> rows;
    for (std::size_t i = 0; i < before.size(); ++i) {
        const auto block = static_cast<std::int64_t>(i) + 1;
        rows.push_back(row("inline-free", block, "rest", 1 - before[i]));
        rows.push_back(row("deferred-free", block, "rest", 1 - after[i]));
        if (before[i] > 0) rows.push_back(row("inline-free", block, symbol, before[i]));
        if (after[i] > 0) rows.push_back(row("deferred-free", block, symbol, after[i]));
    }
    return rows;
}

ReportInput with_profile(const std::vector<store::ProfileRow>& rows, const SampleOptions& options = {}) {
    return changed(options, [&](ReportInput& report) { report.profile = rows; });
}

ProfileLine line_of(const PointProfile& profile, const std::string& symbol, const std::string& caller = "") {
    for (const auto& line : profile.lines)
        if (line.symbol == symbol && line.caller == caller) return line;
    ADD_FAILURE() << "no line " << symbol << " from " << caller;
    return {symbol, caller, std::vector<std::optional<double>>(4), std::vector<std::optional<ShareDifference>>(4), {}};
}

TEST(Profiles, DifferByStudentsTOverBlocks) {
    const auto found =
        profiles(with_profile(rows_of("lock", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, {0.40, 0.38, 0.42, 0.39, 0.41, 0.40})));
    ASSERT_THAT(found, SizeIs(1));
    const auto line = line_of(found[0], "lock");
    EXPECT_DOUBLE_EQ(line.share[inline_free].value(), 0.5);
    EXPECT_NEAR(line.share[deferred_free].value(), 0.4, 1e-12);
    const auto& difference = line.difference[deferred_free].value();
    EXPECT_EQ(difference.n, 6);
    EXPECT_NEAR(difference.value, -0.1, 1e-12);
    // sd sqrt(0.001 / 5), t(0.975, 5) 2.5705818366
    EXPECT_NEAR(difference.low.value(), -0.1 - 0.0148412611, 1e-9);
    EXPECT_NEAR(difference.high.value(), -0.1 + 0.0148412611, 1e-9);
    EXPECT_GT(difference.p_adjusted.value(), 0);
    EXPECT_LE(difference.p.value(), difference.p_adjusted.value());
    EXPECT_FALSE(line.difference[inline_free]) << "a baseline";
}

TEST(Profiles, ASymbolThatAProfiledBootDoesNotHaveIsZeroThere) {
    const auto found = profiles(with_profile(rows_of("new_function", {0, 0, 0, 0, 0, 0}, {0.3, 0, 0.3, 0.3, 0, 0.3})));
    const auto line = line_of(found.at(0), "new_function");
    EXPECT_DOUBLE_EQ(line.share[inline_free].value(), 0);
    EXPECT_NEAR(line.share[deferred_free].value(), 0.2, 1e-12);
    EXPECT_EQ(line.difference[deferred_free].value().n, 6);
    EXPECT_NEAR(line.difference[deferred_free]->value, 0.2, 1e-12);
    EXPECT_THAT(line.boots, SizeIs(12));
    EXPECT_DOUBLE_EQ(line.boots.at({deferred_free, 2}), 0);
}

TEST(Profiles, ABootWithoutAProfileIsNoBootWithZero) {
    auto rows = rows_of("lock", {0.5, 0.5, 0.5, 0.5}, {0.4, 0.4, 0.4, 0.3});
    std::erase_if(rows, [](const auto& r) { return r.arm == "deferred-free" && r.block == 2; });
    const auto found = profiles(with_profile(rows));
    EXPECT_THAT(found.at(0).boots, ElementsAre(4, 0, 3, 0));
    const auto line = line_of(found[0], "lock");
    EXPECT_EQ(line.difference[deferred_free].value().n, 3);
    EXPECT_NEAR(line.difference[deferred_free]->value, -0.4 / 3, 1e-12);
    EXPECT_FALSE(line.share[per_ns_work]) << "an arm without a profile has no share";
    EXPECT_FALSE(line.difference[per_ns_work]);
}

TEST(Profiles, OneBlockGivesNoInterval) {
    const auto found = profiles(with_profile(rows_of("lock", {0.5}, {0.4})));
    const auto difference = line_of(found.at(0), "lock").difference[deferred_free].value();
    EXPECT_EQ(difference.n, 1);
    EXPECT_NEAR(difference.value, -0.1, 1e-12);
    EXPECT_FALSE(difference.low);
    EXPECT_FALSE(difference.p_adjusted);
}

TEST(Profiles, WithoutVariationThereIsNoP) {
    const auto found = profiles(with_profile(rows_of("lock", {0.5, 0.5}, {0.25, 0.25})));
    const auto difference = line_of(found.at(0), "lock").difference[deferred_free].value();
    EXPECT_EQ(difference.low, difference.high);
    EXPECT_FALSE(difference.p);
}

TEST(Profiles, CallersStandBelowTheirSymbolAndAddUp) {
    std::vector<store::ProfileRow> rows;
    for (std::int64_t block = 1; block <= 3; ++block) {
        rows.push_back(row("inline-free", block, "lock", 0.3, "free"));
        rows.push_back(row("inline-free", block, "lock", 0.1, "make"));
        rows.push_back(row("inline-free", block, "copy", 0.35));
        rows.push_back(row("inline-free", block, "rare", 0.0009));
        rows.push_back(row("inline-free", block, "rest", 0.2491));
    }
    const auto found = profiles(with_profile(rows));
    std::vector<std::string> names;
    for (const auto& line : found.at(0).lines) names.push_back(line.symbol + "<" + line.caller);
    EXPECT_THAT(names, ElementsAre("lock<", "lock<free", "lock<make", "copy<", "rest<"));
    EXPECT_NEAR(line_of(found[0], "lock").share[inline_free].value(), 0.4, 1e-12);
}

TEST(Profiles, BlocksAfterTheLookAreLeftOut) {
    auto rows = rows_of("lock", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.1});
    SampleOptions options;
    options.blocks = 7;
    const auto report = with_profile(rows, options);
    ASSERT_EQ(report.look, 0) << "after six blocks";
    const auto line = line_of(profiles(report).at(0), "lock");
    EXPECT_DOUBLE_EQ(line.share[inline_free].value(), 0.5);
    EXPECT_EQ(line.difference[deferred_free].value().n, 6);
}

TEST(ProfileTables, AreNoneWithoutAProfile) {
    EXPECT_THAT(profile_tables(with_profile({}), "ipcns-exit"), IsEmpty());
}

TEST(ProfileTables, ShowTheTopSymbolsAndWhatTheyAre) {
    SampleOptions options;
    options.profile_iterations = 1;
    const auto tables = profile_tables(changed(options, [](ReportInput&) {}), "ipcns-exit");
    ASSERT_THAT(tables, SizeIs(3)) << "the profiles, and a difference for each treatment";
    EXPECT_THAT(tables[0].header, ElementsAre("symbol", "inline-free", "per-ns-work", "deferred-free"));
    EXPECT_THAT(tables[0].caution, HasSubstr("emulated"));
    EXPECT_THAT(tables[0].notes.at(0), HasSubstr("interrupts"));
    const auto has = [&](const std::string& name) {
        return std::any_of(tables[0].rows.begin(), tables[0].rows.end(), [&](const auto& r) { return r[0] == name; });
    };
    EXPECT_TRUE(has("_raw_spin_lock"));
    EXPECT_TRUE(has("  from free_ipcs"));
    EXPECT_FALSE(has("rare_function"));
    EXPECT_THAT(tables[2].title, HasSubstr("deferred-free against inline-free"));
    EXPECT_THAT(tables[2].notes.at(0), HasSubstr("where one falls, others rise"));
    EXPECT_EQ(tables[2].rows.size(), tables[0].rows.size());
}

TEST(ProfileTables, OfALongSweepAreTheFirstAndTheLastPoint) {
    std::vector<store::ProfileRow> rows;
    for (const char* point : {"a=1", "a=2", "a=3", "a=4"})
        for (std::int64_t block = 1; block <= 2; ++block) rows.push_back(row("inline-free", block, "f", 1, "", point));
    const auto report = changed({}, [&](ReportInput& input) {
        input.profile = rows;
        input.tree.points.clear();
        for (const char* point : {"a=1", "a=2", "a=3", "a=4"})
            input.tree.points.push_back({"ipcns-exit", 0, point, "{}"});
    });
    const auto tables = profile_tables(report, "ipcns-exit");
    ASSERT_THAT(tables, SizeIs(2));
    EXPECT_THAT(tables[0].title, HasSubstr("a=1"));
    EXPECT_THAT(tables[1].title, HasSubstr("a=4"));
    EXPECT_THAT(tables[0].notes.back(), HasSubstr("of 4 points"));
}

TEST(Profiles, AreInJsonAndCsv) {
    SampleOptions options;
    options.profile_iterations = 1;
    const auto report = changed(options, [](ReportInput&) {});
    const auto json = parse_json(render_json(report)).value();
    const auto& profile = json.at("profiles").at(0);
    EXPECT_EQ(profile.at("workload"), "ipcns-exit");
    EXPECT_EQ(profile.at("boots").at("deferred-free"), 6);
    const auto& first = profile.at("symbols").at(0);
    EXPECT_EQ(first.at("symbol"), "everything_else");
    EXPECT_TRUE(first.at("caller").is_null());
    EXPECT_EQ(first.at("differences").size(), 3U) << "the control, too";
    const auto csv = render_csv(report);
    EXPECT_THAT(csv, HasSubstr(",0,profiled,symbol:_raw_spin_lock<free_ipcs,1,neither,linear,0."));
    EXPECT_THAT(csv, HasSubstr(",0,profiled,symbol:process_one_work,1,neither,linear,0,,,\n")) << "a boot without it";
}

}  // namespace
}  // namespace kab::report
