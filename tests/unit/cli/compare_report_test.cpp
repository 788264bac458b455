#include "cli/compare_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/report/report.h"
#include "tests/support/database/sample_database.h"

namespace kab::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// kab report ID --format csv > FILE, kab compare FILE
TEST(CompareReport, gives_the_figures_of_the_evaluation_whose_csv_it_reads) {
    const test::SampleDatabase database;
    const auto report = report::gather(*database.store, test::sample_evaluation());
    ASSERT_TRUE(report);
    auto read = results::read_results(report::render_csv(*report), "e.csv");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_THAT(read->notes, Contains(HasSubstr("values of the control arm")));
    EXPECT_THAT(read->notes, Contains(HasSubstr("values of warm-ups")));
    results::Request request;
    request.metrics = {"elapsed"};
    request.baseline = report->input.arms.front().name;
    auto prepared = results::prepare({{"e.csv", std::move(*read)}}, request);
    ASSERT_TRUE(prepared) << prepared.error().text();
    EXPECT_TRUE(prepared->blocks);
    const auto output = stats::analyse(prepared->input);
    int compared = 0;
    for (const auto& own : output.comparisons)
        for (const auto& theirs : report->output.comparisons) {
            const auto name = [](const stats::Input& input, int arm) {
                return input.arms[static_cast<std::size_t>(arm)].name;
            };
            if (theirs.metric != own.metric || theirs.control ||
                name(report->input, theirs.arm) != name(prepared->input, own.arm) ||
                name(report->input, theirs.against) != name(prepared->input, own.against))
                continue;
            ++compared;
            EXPECT_EQ(own.n, theirs.n);
            EXPECT_EQ(own.t, theirs.t);
            EXPECT_EQ(own.p, theirs.p);
            EXPECT_EQ(own.p_rank, theirs.p_rank);
            EXPECT_EQ(own.estimate->value, theirs.estimate->value);
        }
    EXPECT_GE(compared, 1);
}

TEST(CompareReport, speaks_of_runs_and_blocks_and_never_of_boots) {
    results::Results a, b;
    results::Metric metric;
    metric.name = "time";
    metric.values = {{0, std::nullopt, 0, 5.0}};
    a.metrics = b.metrics = {metric};
    CompareReport report;
    report.prepared = *results::prepare({{"a", a}, {"b", b}}, {});
    report.output = stats::analyse(report.prepared.input);
    const auto text = report::to_text(compare_document(report));
    EXPECT_THAT(text, HasSubstr("b against a, time: not compared, fewer than 2 runs of an arm have values"));
    EXPECT_THAT(compare_json(report), HasSubstr("\"estimate\":null"));
    EXPECT_THAT(compare_csv(report), HasSubstr("b,a,\"\",time,\"\",lower,log,1,1,1,5,5,,,,,,"));
}

}  // namespace
}  // namespace kab::cli
