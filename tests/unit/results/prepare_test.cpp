// From files to an analysis; the numbers of the analysis itself are tested in tests/unit/stats.
#include "daemon/stats/analysis.h"
#include "made.h"

namespace kab::results {
namespace {

using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

Prepared prepared(std::vector<File> files, const Request& request = {}) {
    auto result = prepare(std::move(files), request);
    EXPECT_TRUE(result) << (result ? "" : result.error().text());
    return result.value_or(Prepared{});
}

std::string refused(std::vector<File> files, const Request& request = {}) {
    const auto result = prepare(std::move(files), request);
    EXPECT_FALSE(result);
    if (result) return "";
    EXPECT_EQ(result.error().fault, Fault::usage);
    return result.error().text();
}

File file(const std::string& name, const std::string& text) {
    return {name, good(text, name)};
}

std::vector<std::string> arms_of(const Prepared& prepared) {
    std::vector<std::string> names;
    for (const auto& arm : prepared.input.arms) names.push_back(arm.name);
    return names;
}

/// The end-to-end numbers of the statistics' reference data.
TEST(Prepare, pairs_in_blocks_where_every_value_has_one) {
    const auto ready = prepared({file("blocks.csv", golden("blocks.csv"))});
    EXPECT_TRUE(ready.blocks);
    EXPECT_TRUE(ready.input.design.paired);
    const auto output = stats::analyse(ready.input);
    ASSERT_EQ(output.comparisons.size(), 1U);
    const auto& row = output.comparisons[0];
    EXPECT_EQ(row.n, 8);
    EXPECT_THAT(row.t, DoubleNear(6.092284851, 1e-8));
    EXPECT_THAT(*row.p, DoubleNear(.000494831151, 1e-11));
    EXPECT_THAT(std::log(row.estimate->low), DoubleNear(.01184794805, 1e-10));
    EXPECT_THAT(std::log(row.estimate->high), DoubleNear(.02687933009, 1e-10));
}

/// The example of benchstat's documentation: p = 0.016 (n = 4+5) and p = 0.286.
TEST(Prepare, compares_runs_unpaired_where_there_are_no_blocks) {
    const auto ready = prepared({file("old.txt", golden("go-old.txt")), file("new.txt", golden("go-new.txt"))});
    EXPECT_FALSE(ready.blocks);
    EXPECT_THAT(arms_of(ready), ElementsAre("old.txt", "new.txt"));
    const auto output = stats::analyse(ready.input);
    ASSERT_EQ(output.comparisons.size(), 4U);
    EXPECT_EQ(output.comparisons[0].workload, "GobEncode");
    EXPECT_TRUE(output.comparisons[0].primary);
    EXPECT_THAT(*output.comparisons[0].p_rank, DoubleNear(2.0 / 126, 1e-12));
    EXPECT_EQ(output.comparisons[0].verdict, stats::Verdict::improved);
    EXPECT_EQ(output.comparisons[1].workload, "JSONEncode");
    EXPECT_TRUE(output.comparisons[1].primary);
    EXPECT_THAT(*output.comparisons[1].p_rank, DoubleNear(36.0 / 126, 1e-12));
    EXPECT_FALSE(output.comparisons[2].primary);
    EXPECT_EQ(output.comparisons[2].metric, "MB/s");
    EXPECT_EQ(output.comparisons[2].verdict, stats::Verdict::improved);
}

TEST(Prepare, takes_the_baseline_that_was_asked_for) {
    Request request;
    request.baseline = "new";
    const auto ready = prepared({file("h.json", golden("hyperfine.json"))}, request);
    EXPECT_THAT(arms_of(ready), ElementsAre("new", "old"));
    EXPECT_EQ(ready.input.arms[1].against, 0);
    int of_first = 0;
    for (const auto& observation : ready.input.observations) of_first += observation.arm == 0 ? 1 : 0;
    EXPECT_EQ(of_first, 12);
    request.baseline = "older";
    EXPECT_EQ(refused({file("h.json", golden("hyperfine.json"))}, request),
              "h.json: there is no arm 'older'; there are: old, new");
}

TEST(Prepare, takes_commands_as_benchmarks_where_a_second_file_is_given) {
    const std::string one = R"({"results": [{"command": "x", "times": [1, 2]}, {"command": "y", "times": [3, 4]}]})";
    const auto ready = prepared({file("a/r.json", one), file("b/r.json", one)});
    EXPECT_THAT(arms_of(ready), ElementsAre("a/r.json", "b/r.json"));
    ASSERT_EQ(ready.input.series.size(), 2U);
    EXPECT_EQ(ready.input.series[1].workload, "y");
    EXPECT_EQ(ready.input.arms[0].boots, 4);
}

TEST(Prepare, converts_times_and_refuses_other_units) {
    const auto text = [](const char* unit) {
        return fmt::format(R"({{"benchmarks": [{{"name": "x", "real_time": 2, "cpu_time": 2, "time_unit": "{}"}}]}})",
                           unit);
    };
    const auto ready = prepared({file("a", text("us")), file("b", text("ms"))});
    EXPECT_EQ(ready.input.series[0].unit, "us");
    EXPECT_EQ(ready.input.observations[1].value, 2000);
    EXPECT_EQ(refused({file("a", "metric,unit,value\nm,B,1\n"), file("b", "metric,unit,value\nm,KiB,1\n")}),
              "b: m is in 'KiB' here, but in 'B' in the baseline's file: convert one of them");
}

TEST(Prepare, chooses_metrics_and_says_what_is_left) {
    Request request;
    request.metrics = {"JSONEncode", "GobEncode/MB/s"};
    const auto ready = prepared({file("old", golden("go-old.txt")), file("new", golden("go-new.txt"))}, request);
    ASSERT_EQ(ready.input.series.size(), 3U);
    EXPECT_TRUE(ready.input.series[0].primary);
    EXPECT_TRUE(ready.input.series[1].primary);
    EXPECT_EQ(ready.input.series[2].workload, "GobEncode");
    EXPECT_FALSE(ready.input.series[2].primary);
    EXPECT_THAT(ready.notes, Contains("not asked for: GobEncode/ns/op"));
    request.metrics = {"GobEncod"};
    EXPECT_THAT(refused({file("old", golden("go-old.txt")), file("new", golden("go-new.txt"))}, request),
                HasSubstr("there is no metric 'GobEncod'"));
}

TEST(Prepare, names_metrics_that_one_side_has_alone) {
    const auto ready = prepared({file("a", "metric,value\nx,1\ny,2\n"), file("b", "metric,value\nx,1\nz,2\n")});
    EXPECT_EQ(ready.input.series.size(), 1U);
    EXPECT_THAT(ready.notes, Contains("only a has y: not compared"));
    EXPECT_THAT(ready.notes, Contains("only b has z: not compared"));
    EXPECT_THAT(refused({file("a", "metric,value\nx,1\n"), file("b", "metric,value\nz,1\n")}),
                HasSubstr("shares no metric with another arm; only a has x: not compared; only b has z"));
    Request request;
    request.metrics = {"y"};
    EXPECT_EQ(refused({file("a", "metric,value\nx,1\ny,2\n"), file("b", "metric,value\nx,1\n")}, request),
              "metric 'y' has values on one side only");
}

TEST(Prepare, takes_a_column_without_a_name_for_the_one_metric_of_the_other_file) {
    const auto ready = prepared({file("a", "1\n2\n"), file("b", "latency\n3\n4\n")});
    ASSERT_EQ(ready.input.series.size(), 1U);
    EXPECT_EQ(ready.input.series[0].metric, "latency");
    EXPECT_EQ(ready.input.observations.size(), 4U);
}

TEST(Prepare, compares_as_a_difference_where_there_are_zeros) {
    const std::string zeros = "misses\n0\n1\n0\n2\n", more = "misses\n5\n6\n7\n6\n";
    const auto ready = prepared({file("a", zeros), file("b", more)});
    EXPECT_EQ(ready.input.series[0].scale, Scale::linear);
    EXPECT_THAT(ready.notes, Contains("misses has values of 0 or below: compared as a difference, not as a ratio"));
    Request request;
    request.margin = 0.5;
    request.higher = {"misses"};
    const auto output = stats::analyse(prepared({file("a", zeros), file("b", more)}, request).input);
    EXPECT_THAT(output.comparisons.at(0).margin.value(), DoubleNear(0.5 * 0.75, 1e-12));
    EXPECT_EQ(output.comparisons.at(0).verdict, stats::Verdict::improved);
}

TEST(Prepare, does_not_pair_what_has_no_common_blocks) {
    const auto ready = prepared({file("a", "block,value\n1,10\n1,12\n2,11\n"), file("b", "block,value\n3,10\n4,11\n")});
    EXPECT_FALSE(ready.blocks);
    EXPECT_THAT(ready.notes, Contains("a and b share fewer than two blocks: they are not paired"));
    EXPECT_THAT(ready.notes, Contains("the runs of a block of one arm count as one, by their mean"));
    const auto output = stats::analyse(ready.input);
    ASSERT_EQ(output.summaries.size(), 2U);
    EXPECT_EQ(output.summaries[0].boots, 2);
    EXPECT_THAT(output.summaries[0].mean, DoubleNear(11, 1e-12));
    const auto mixed = prepared({file("a", "block,value\n1,10\n2,11\n"), file("b", "10\n11\n")});
    EXPECT_FALSE(mixed.blocks);
    EXPECT_THAT(mixed.notes, Contains("not every value has a block: the arms are not paired"));
}

TEST(Prepare, says_what_is_missing) {
    EXPECT_EQ(refused({file("a.txt", "1\n2\n")}),
              "a.txt: the file names no arms: give a second file to compare with, or a column 'arm' with two or more");
    EXPECT_EQ(refused({file("a.json", golden("google-old.json"))}),
              "a.json: the file names no arms: give a second file to compare with");
    EXPECT_EQ(refused({file("b.csv", golden("blocks.csv")), file("a.txt", "1\n2\n")}),
              "b.csv: the file has 2 arms (base, patched): give it alone, or a file for each");
    Request request;
    request.baseline = "a";
    EXPECT_THAT(refused({file("a", "1\n2\n"), file("b", "1\n2\n")}, request),
                HasSubstr("of two files the first is it"));
}

TEST(Prepare, names_two_arms_apart) {
    EXPECT_THAT(arms_of(prepared({file("x/r", "1\n2\n"), file("y/r", "1\n2\n")})), ElementsAre("x/r", "y/r"));
    EXPECT_THAT(arms_of(prepared({file("r", "1\n2\n"), file("r", "1\n2\n")})), ElementsAre("r", "r (again)"));
    EXPECT_THAT(arms_of(prepared({file("a.csv", "arm,value\nbase,1\n"), file("b.csv", "arm,value\nnew,2\n")})),
                ElementsAre("base", "new"));
}

}  // namespace
}  // namespace kab::results
