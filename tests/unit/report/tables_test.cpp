// The tables of a workload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "daemon/report/compose.h"
#include "daemon/report/sweep.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using test::changed;
using test::SampleOptions;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> row_of(const Table& table, const std::string& name) {
    for (const auto& row : table.rows)
        if (row.front() == name) return row;
    return {};
}

constexpr int deferred_free = 2;

/// The tables with values, by title; not those of comparisons.
std::map<std::string, Table> value_tables(const ReportInput& report) {
    std::map<std::string, Table> tables;
    for (const auto& section : result_sections(report))
        for (const auto& part : section.parts)
            if (const auto* table = std::get_if<Table>(&part)) tables.emplace(table->title, *table);
    return tables;
}

TEST(Tables, MarkThePrimaryAndWhatIsMaterial) {
    const auto tables = comparison_tables(changed({}, [](ReportInput&) {}), "ipcns-exit", deferred_free);
    ASSERT_THAT(tables, SizeIs(2));
    ASSERT_THAT(row_of(tables[0], "*elapsed"), SizeIs(6));
    EXPECT_EQ(row_of(tables[0], "*elapsed").back(), "improved !");
    EXPECT_EQ(row_of(tables[0], "page-faults").back(), "equivalent");
    EXPECT_THAT(tables[0].notes, Contains(HasSubstr("not adjusted for the number of metrics")));
}

TEST(Tables, RanksStandBesideT) {
    const auto report = changed({}, [](ReportInput&) {});
    const auto tables = comparison_tables(report, "ipcns-exit", deferred_free);
    ASSERT_THAT(tables, SizeIs(2));
    const auto row = row_of(tables[1], "*elapsed");
    ASSERT_THAT(row, SizeIs(6));
    // Six blocks that all pull one way: two sides of 1 in 64.
    EXPECT_EQ(row[2], "0.031");
    EXPECT_EQ(row[5], "96.88%");
}

TEST(Tables, ADifferenceWithoutVariationHasNoInterval) {
    const auto report = changed({}, [](ReportInput& rows) {
        for (auto& sample : rows.samples)
            if (sample.metric == "cpu-migrations") sample.value = sample.arm == "deferred-free" ? 14 : 13;
    });
    const auto tables = comparison_tables(report, "ipcns-exit", deferred_free);
    const auto row = row_of(tables.at(0), "cpu-migrations");
    ASSERT_THAT(row, SizeIs(6));
    EXPECT_EQ(row[1], "+1");
    EXPECT_EQ(row[2], "exact");
}

TEST(Tables, ExplainAVerdictThatItsAdjustedPDoesNotShow) {
    SampleOptions options;
    options.crashing_arm = "deferred-free";
    const auto report = changed(options, [](ReportInput&) {});
    const auto* primary = primary_of(report, deferred_free);
    ASSERT_NE(primary, nullptr);
    ASSERT_LE(*primary->p_adjusted, 0.05);
    ASSERT_GT(primary->estimate->high, 1);
    const auto tables = comparison_tables(report, "ipcns-exit", deferred_free);
    EXPECT_THAT(tables.at(0).notes, Contains(HasSubstr("follows its interval")));
    const auto clear = comparison_tables(report, "ipcns-exit", 1);
    EXPECT_THAT(clear.at(0).notes, Not(Contains(HasSubstr("follows its interval"))));
}

TEST(Tables, OneBootHasNoSpread) {
    SampleOptions options;
    options.blocks = 1;
    options.status = "running";
    const auto text = render_text(changed(options, [](ReportInput&) {}));
    EXPECT_THAT(text, HasSubstr("±-"));
    EXPECT_THAT(text, Not(HasSubstr("±0")));
    EXPECT_THAT(text, HasSubstr("unknown between blocks"));
}

TEST(Tables, PointsStandBelowTheirMean) {
    SampleOptions options;
    options.swept = true;
    const auto tables = comparison_tables(changed(options, [](ReportInput&) {}), "ipcns-exit", deferred_free);
    ASSERT_GE(tables.at(0).rows.size(), 3U);
    EXPECT_EQ(tables[0].rows[0].front(), "*elapsed, mean");
    EXPECT_EQ(tables[0].rows[1].front(), "  concurrency=0");
}

TEST(SweepTables, OfTwoPointsHaveAllMetricsBelowEachOther) {
    SampleOptions options;
    options.swept = true;
    const auto tables = value_tables(changed(options, [](ReportInput&) {}));
    for (const char* point : {"concurrency=0", "concurrency=1"}) {
        const auto title = fmt::format("ipcns-exit at {}: mean ± relative sd of the boot means", point);
        ASSERT_TRUE(tables.contains(title)) << title;
        for (const char* metric : {"elapsed", "backlog", "task-clock", "page-faults"})
            EXPECT_THAT(row_of(tables.at(title), metric)[1], HasSubstr("±")) << metric;
        EXPECT_EQ(row_of(tables.at(title), "cycles"),
                  (std::vector<std::string>{"cycles", "absent [1]", "absent [1]", "absent [1]"}));
        EXPECT_THAT(tables.at(title).notes, Contains(HasSubstr("[1] no hardware counters")));
    }
    EXPECT_TRUE(tables.contains("ipcns-exit/elapsed: ratio to inline-free, with intervals"));
    EXPECT_FALSE(tables.contains("ipcns-exit/elapsed: mean ± relative sd of the boot means"));
}

TEST(SweepTables, OfMorePointsHaveATableAMetric) {
    SampleOptions options;
    options.swept = true;
    const auto tables = value_tables(changed(options, [](ReportInput& rows) {
        rows.tree.points.push_back({"ipcns-exit", 2, "concurrency=8", R"({"children":1000,"concurrency":8})"});
    }));
    const auto& elapsed = tables.at("ipcns-exit/elapsed: mean ± relative sd of the boot means");
    EXPECT_THAT(elapsed.rows, SizeIs(3));
    EXPECT_EQ(row_of(elapsed, "concurrency=8")[1], "absent [1]");
    EXPECT_FALSE(tables.contains("ipcns-exit at concurrency=0: mean ± relative sd of the boot means"));
}

TEST(Tables, AreNotMadeOfChecks) {
    const auto report = changed({}, [](ReportInput& rows) {
        rows.tree.points.push_back({"ipcns-check", 0, "", "{}"});
    });
    const auto sections = result_sections(report);
    ASSERT_THAT(sections, SizeIs(1));
    EXPECT_EQ(sections.front().heading, "ipcns-exit");
}

TEST(SweepTables, HaveAPointARowAnArmAColumnAndTheVerdictOfTheMean) {
    SampleOptions options;
    options.swept = true;
    const auto report = changed(options, [](ReportInput&) {});
    const auto table = sweep_effects(report, "ipcns-exit", {"concurrency=0", "concurrency=1"});
    ASSERT_TRUE(table);
    EXPECT_EQ(table->title, "ipcns-exit/elapsed: ratio to inline-free, with intervals");
    EXPECT_EQ(table->header, (std::vector<std::string>{"concurrency", "per-ns-work", "deferred-free"}));
    ASSERT_THAT(table->rows, SizeIs(4));
    EXPECT_EQ(row_of(*table, "0")[1], "0.857 [0.821, 0.895]");
    EXPECT_EQ(row_of(*table, "mean")[2], "0.793 [0.748, 0.841]");
    EXPECT_EQ(row_of(*table, "verdict")[1], "improved !");
    EXPECT_THAT(table->notes, Contains(HasSubstr("its interval: 97.5%, those of single points: 95%")));
    EXPECT_FALSE(sweep_effects(report, "another", {"concurrency=0"}));
    EXPECT_FALSE(sweep_effects(changed({}, [](ReportInput&) {}), "ipcns-exit", {""})) << "nothing is swept";
}

TEST(SweepTables, MarkPointsWithMoreTasksThanCpus) {
    SampleOptions options;
    options.swept = true;
    auto report = changed(options, [](ReportInput&) {});
    ASSERT_EQ(oversubscribed(report, "ipcns-exit", "concurrency=1"), "") << "its children are not meant to run at once";
    report.tree.points = {{"proc-read", 1, "tasks=2", R"({"loops":1,"tasks":2})"},
                          {"proc-read", 2, "tasks=3", R"({"loops":1,"tasks":3})"}};
    EXPECT_EQ(oversubscribed(report, "proc-read", "tasks=2"), "");
    EXPECT_EQ(oversubscribed(report, "proc-read", "tasks=3"),
              "oversubscribed: more tasks than the 2 CPUs of the machine");
    EXPECT_EQ(oversubscribed(report, "proc-read", "tasks=4"), "") << "no such point";
    EXPECT_EQ(oversubscribed(report, "another", "tasks=3"), "") << "no such workload";
}

}  // namespace
}  // namespace kab::report
