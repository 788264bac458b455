// The formats of other tools, from files that these tools have written (tests/golden/results).
#include "made.h"

namespace kab::results {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Formats, are_recognised_by_their_content) {
    EXPECT_EQ(recognise(golden("blocks.csv")), Format::csv);
    EXPECT_EQ(recognise(golden("column-old.txt")), Format::csv);
    EXPECT_EQ(recognise(golden("hyperfine.json")), Format::hyperfine);
    EXPECT_EQ(recognise(golden("google-old.json")), Format::google_benchmark);
    EXPECT_EQ(recognise(golden("go-old.txt")), Format::go_benchmark);
    EXPECT_EQ(recognise(golden("perf-old.csv")), Format::perf_stat);
    EXPECT_EQ(recognise(golden("perf-repeated.csv")), Format::perf_stat);
    EXPECT_EQ(recognise(golden("perf-intervals.csv")), Format::perf_stat);
    EXPECT_EQ(recognise("<not counted>,,cycles,0,100.00,,\n"), Format::perf_stat);
    EXPECT_EQ(recognise("{\"a\": 1}"), std::nullopt);
    EXPECT_EQ(recognise("1,2,3,4,5\n"), Format::csv);
    for (const auto& name : format_names()) EXPECT_EQ(to_string(*parse_format(name)), name);
    EXPECT_EQ(parse_format("xml"), std::nullopt);
}

TEST(Formats, of_unknown_json_are_refused) {
    EXPECT_THAT(complaint("{\"a\": 1}"), HasSubstr("in: JSON of an unknown kind: expected 'results'"));
    EXPECT_THAT(complaint("{\"results\": [}"), HasSubstr("line 1, column 14"));
    EXPECT_THAT(complaint("{\"results\": []}", Format::google_benchmark), HasSubstr("there is no 'benchmarks'"));
    EXPECT_THAT(complaint("[1]", Format::hyperfine), HasSubstr("there is no 'results'"));
}

TEST(Hyperfine, gives_the_times_of_each_command) {
    const auto results = good(golden("hyperfine.json"));
    EXPECT_THAT(results.arms, ElementsAre("old", "new"));
    ASSERT_THAT(names_of(results), ElementsAre("time"));
    EXPECT_EQ(results.metrics[0].unit, "s");
    EXPECT_EQ(results.metrics[0].better, Better::lower);
    EXPECT_THAT(values_of(results.metrics[0], 0), SizeIs(12));
    EXPECT_THAT(values_of(results.metrics[0], 1), SizeIs(12));
    EXPECT_THAT(results.runs, ElementsAre(12, 12));
    EXPECT_THAT(results.failed, ElementsAre(0, 0));
    EXPECT_THAT(results.notes, ElementsAre("hyperfine keeps user and system time as means only: not used"));
}

TEST(Hyperfine, leaves_failed_runs_out_and_counts_them) {
    const auto results = good(R"({"results": [{"command": "a", "times": [1, 2, 3], "exit_codes": [0, 1, null],
                                  "memory_usage_byte": [10, 20, 30]}]})");
    EXPECT_THAT(values_of(results.metrics.at(0)), ElementsAre(1));
    EXPECT_THAT(results.runs, ElementsAre(3));
    EXPECT_THAT(results.failed, ElementsAre(2));
    ASSERT_THAT(results.absent, SizeIs(2));
    EXPECT_EQ(results.absent[0].reason, "the command failed");
    EXPECT_EQ(results.absent[0].runs, 2);
    EXPECT_EQ(results.metrics.at(1).unit, "B");
}

TEST(Hyperfine, names_the_path_of_what_is_wrong) {
    EXPECT_EQ(complaint(R"({"results": [{"command": "a", "times": [1, "x"]}]})"),
              "in: results[0].times[1]: expected a number, not \"x\"");
    EXPECT_THAT(complaint(R"({"results": [{"command": "a", "mean": 1}]})"),
                HasSubstr("in: results[0].times: expected"));
    EXPECT_THAT(complaint(R"({"results": [{"times": [1]}]})"), HasSubstr("in: results[0]: missing 'command'"));
    EXPECT_THAT(complaint(R"({"results": {}})"), HasSubstr("in: results: expected a list"));
    EXPECT_THAT(complaint(R"({"results": [{"command": "a", "times": [1]}, {"command": "a", "times": [2]}]})"),
                HasSubstr("in: results[1].command: 'a' is here twice"));
}

TEST(GoogleBenchmark, gives_repetitions_and_skips_aggregates) {
    const auto results = good(golden("google-old.json"));
    EXPECT_THAT(results.arms, IsEmpty());
    EXPECT_THAT(names_of(results),
                ElementsAre("BM_sort/64/real_time", "BM_sort/64/cpu_time", "BM_sort/64/items_per_second",
                            "BM_copy/real_time", "BM_copy/cpu_time", "BM_copy/bytes_per_second"));
    for (const auto& metric : results.metrics) EXPECT_THAT(metric.values, SizeIs(6)) << metric.name;
    EXPECT_EQ(results.metrics[0].unit, "ns");
    EXPECT_EQ(results.metrics[0].better, Better::lower);
    EXPECT_EQ(results.metrics[2].better, Better::higher);
    EXPECT_EQ(results.metrics[5].unit, "B/s");
    EXPECT_THAT(results.failed, ElementsAre(6));
    EXPECT_THAT(results.runs, ElementsAre(18));
    ASSERT_THAT(results.absent, SizeIs(1));
    EXPECT_EQ(results.absent[0].metric, "BM_err");
    EXPECT_EQ(results.absent[0].reason, "no such file");
    EXPECT_THAT(results.notes, Contains("not used: 8 aggregates (mean, median, ...): they are computed anew"));
    EXPECT_THAT(results.notes, Contains("the benchmark library was built for debugging: its times may be off"));
}

TEST(GoogleBenchmark, takes_counters_of_the_user_as_metrics) {
    const auto results = good(R"({"benchmarks": [{"name": "a", "run_type": "iteration", "iterations": 7,
        "real_time": 1, "cpu_time": 2, "time_unit": "us", "misses": 3.5}]})");
    EXPECT_THAT(names_of(results), ElementsAre("a/real_time", "a/cpu_time", "a/misses"));
    EXPECT_EQ(results.metrics[0].unit, "us");
    EXPECT_EQ(results.metrics[2].better, std::nullopt);
}

TEST(GoogleBenchmark, names_the_path_of_what_is_wrong) {
    EXPECT_THAT(complaint(R"({"benchmarks": [{"name": "a_mean", "run_type": "aggregate"}]})"),
                HasSubstr("in: benchmarks: only aggregates: run with --benchmark_repetitions=10"));
    EXPECT_THAT(complaint(R"({"benchmarks": [{"name": "a", "time_unit": "ns", "cpu_time": 1}]})"),
                HasSubstr("in: benchmarks[0]: missing 'real_time'"));
    EXPECT_THAT(complaint(R"({"benchmarks": [{"name": "a", "real_time": 1, "cpu_time": 1}]})"),
                HasSubstr("in: benchmarks[0]: missing 'time_unit': expected ns, us, ms or s"));
    EXPECT_THAT(complaint(R"({"benchmarks": []})"), HasSubstr("in: benchmarks: expected a list"));
}

TEST(GoBenchmark, gives_a_value_for_each_unit_of_each_line) {
    const auto results = good(golden("go-old.txt"));
    EXPECT_THAT(names_of(results),
                ElementsAre("GobEncode/ns/op", "GobEncode/MB/s", "JSONEncode/ns/op", "JSONEncode/MB/s"));
    EXPECT_THAT(values_of(results.metrics[0]), ElementsAre(13552735, 13553943, 13606356, 13683198));
    EXPECT_EQ(results.metrics[0].better, Better::lower);
    EXPECT_EQ(results.metrics[1].better, Better::higher);
    EXPECT_THAT(results.notes, IsEmpty());
}

TEST(GoBenchmark, keeps_processors_memory_and_other_units) {
    const auto results = good(
        "pkg: one\nUnit widgets better=higher\n"
        "BenchmarkX-8 \t 1000\t 123.5 ns/op\t 45 B/op\t 0 allocs/op\t 7 widgets\t 9 things\n"
        "BenchmarkX\npkg: two\nBenchmarkX-8 10 1 ns/op\nhello\n--- FAIL: BenchmarkY\n");
    EXPECT_THAT(names_of(results),
                ElementsAre("X-8/ns/op", "X-8/B/op", "X-8/allocs/op", "X-8/widgets", "X-8/things", "two.X-8/ns/op"));
    EXPECT_EQ(results.metrics[3].better, Better::higher);
    EXPECT_EQ(results.metrics[4].better, std::nullopt);
    EXPECT_THAT(results.notes,
                ElementsAre("line 8 tells of a failure: --- FAIL: BenchmarkY", "not used: 1 lines that are no results",
                            "not used: 1 names of benchmarks without a result"));
}

TEST(GoBenchmark, names_the_line_of_what_is_wrong) {
    EXPECT_THAT(complaint("BenchmarkX 10 1 ns/op\nBenchmarkX 10 1 ns/op 5\n"),
                HasSubstr("in:2: expected pairs of value"));
    EXPECT_EQ(complaint("BenchmarkX 10 1 ns/op\nBenchmarkX 10 NaN ns/op\n"),
              "in:2: expected a number before 'ns/op', not 'NaN'");
    EXPECT_THAT(complaint("nothing\n", Format::go_benchmark), HasSubstr("in: there is no line such as"));
}

TEST(PerfStat, gives_a_value_for_each_run) {
    const auto results = good(golden("perf-old.csv"));
    EXPECT_THAT(names_of(results), ElementsAre("task-clock", "page-faults", "context-switches"));
    EXPECT_EQ(results.metrics[0].unit, "msec");
    EXPECT_EQ(results.metrics[1].unit, "");
    for (const auto& metric : results.metrics) EXPECT_THAT(metric.values, SizeIs(6));
    ASSERT_THAT(results.absent, SizeIs(1));
    EXPECT_EQ(results.absent[0].metric, "cycles");
    EXPECT_EQ(results.absent[0].reason, "not supported");
    EXPECT_EQ(results.absent[0].runs, 6);
    EXPECT_THAT(results.notes, ElementsAre("not used: what perf derives from two counters, such as CPUs utilized"));
}

TEST(PerfStat, takes_the_mean_of_repetitions_as_one_value_and_says_so) {
    const auto results = good(golden("perf-repeated.csv"));
    for (const auto& metric : results.metrics) EXPECT_THAT(metric.values, SizeIs(1));
    EXPECT_THAT(results.notes, Contains(HasSubstr("keeps only the mean of its runs: each counts as one value")));
}

TEST(PerfStat, tells_of_counters_that_took_turns) {
    const auto results = good("10,,cycles,1000,50.00,,\n<not counted>,,cycles,0,0.00,,\n");
    EXPECT_THAT(values_of(results.metrics.at(0)), ElementsAre(10));
    EXPECT_EQ(results.absent.at(0).reason, "not counted");
    EXPECT_THAT(results.notes, ElementsAre(HasSubstr("1 counts are scaled up by perf")));
}

TEST(PerfStat, knows_events_with_commas_of_their_own) {
    const auto results = good("7,,cpu/event=0x3c,umask=0x1/,1.25%,1000,100.00,,\n8,,uncore/x/,1000,100.00,,\n");
    EXPECT_THAT(names_of(results), ElementsAre("cpu/event=0x3c,umask=0x1/", "uncore/x/"));
    EXPECT_THAT(results.notes, ElementsAre(HasSubstr("keeps only the mean")));
}

TEST(PerfStat, refuses_what_are_no_runs) {
    EXPECT_THAT(complaint(golden("perf-intervals.csv")),
                HasSubstr("in:3: these are intervals of one run (perf stat -I)"));
    EXPECT_THAT(complaint("CPU0,1.33,msec,cpu-clock,1330659,100.00,1.0,CPUs utilized\n", Format::perf_stat),
                HasSubstr("in:1: 'CPU0' is a part of the machine"));
    EXPECT_THAT(complaint("S0,2,1.33,msec,cpu-clock,1330659,100.00,1.0,CPUs utilized\n"),
                HasSubstr("in:1: 'S0' is a part of the machine"));
    EXPECT_THAT(complaint("1,,cycles,10,100.00,,\nfoo,bar\n"), HasSubstr("in:2: expected value,unit,event"));
    EXPECT_THAT(complaint("12,msec,,10,100.00,,\n", Format::perf_stat),
                HasSubstr("in:1: there is no name of an event"));
}

}  // namespace
}  // namespace kab::results
