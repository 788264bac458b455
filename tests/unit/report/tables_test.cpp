// The tables of a workload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/report/compose.h"
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

}  // namespace
}  // namespace kab::report
