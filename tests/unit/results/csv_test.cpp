#include "made.h"

namespace kab::results {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Csv, reads_columns_in_any_order) {
    const auto results = good("value,metric,arm,iteration,block\n1.5,time,a,0,3\n-2e3,time,b,1,3\n");
    EXPECT_THAT(results.arms, ElementsAre("a", "b"));
    ASSERT_EQ(results.metrics.size(), 1U);
    EXPECT_EQ(results.metrics[0].name, "time");
    const auto& values = results.metrics[0].values;
    ASSERT_EQ(values.size(), 2U);
    EXPECT_EQ(values[0].block, 3);
    EXPECT_EQ(values[1].iteration, 1);
    EXPECT_EQ(values[1].value, -2000);
    EXPECT_THAT(results.notes, IsEmpty());
}

TEST(Csv, reads_one_column_with_and_without_a_name) {
    EXPECT_THAT(values_of(good("1\n2.5\n\n3\n").metrics.at(0)), ElementsAre(1, 2.5, 3));
    EXPECT_EQ(good("1\n2\n").metrics.at(0).name, "value");
    const auto named = good("latency_ms\n4\n5\n");
    EXPECT_EQ(named.metrics.at(0).name, "latency_ms");
    EXPECT_THAT(values_of(named.metrics.at(0)), ElementsAre(4, 5));
}

TEST(Csv, knows_quotes_line_ends_and_the_byte_order_mark) {
    const auto results = good("\xEF\xBB\xBF\"arm\",metric,value\r\n\"a, \"\"b\"\"\",\"two\nlines\",\"7\"\r\nc,d,8");
    EXPECT_THAT(results.arms, ElementsAre("a, \"b\"", "c"));
    EXPECT_EQ(results.metrics.at(0).name, "two\nlines");
}

TEST(Csv, numbers_iterations_within_arm_and_block_where_the_file_does_not) {
    const auto results = good("arm,block,value\na,1,10\na,1,11\na,2,12\nb,1,13\n");
    std::vector<int> iterations;
    for (const auto& value : results.metrics.at(0).values) iterations.push_back(value.iteration);
    EXPECT_THAT(iterations, ElementsAre(0, 1, 0, 0));
}

TEST(Csv, tells_what_it_does_not_use) {
    const auto results = good("arm,value,host,colour\na,1,h,red\n");
    EXPECT_THAT(results.notes, ElementsAre("columns not used: host, colour"));
}

TEST(Csv, reads_what_kab_report_writes) {
    const auto results = good(
        "arm,control,role,block,workload,point,iteration,warmup,metric,unit,better,scale,value,reason\n"
        "a,0,measured,1,w,tasks=2,0,1,t,ns,lower,log,900,\n"
        "a,0,measured,1,w,tasks=2,0,0,t,ns,lower,log,100,\n"
        "a,0,measured,1,w,tasks=2,0,0,cycles,1,lower,log,,not supported here\n"
        "A',1,control,1,w,tasks=2,0,0,t,ns,lower,log,100,\n"
        "A'relinked,0,relinked,1,w,tasks=2,0,0,t,ns,lower,log,100,\n"
        "b,0,measured,1,w,tasks=2,0,0,rate,1/s,higher,linear,0,\n");
    EXPECT_THAT(names_of(results), ElementsAre("w (tasks=2)/t", "w (tasks=2)/rate"));
    EXPECT_THAT(values_of(results.metrics[0]), ElementsAre(100));
    EXPECT_EQ(results.metrics[0].unit, "ns");
    EXPECT_EQ(results.metrics[1].better, Better::higher);
    EXPECT_EQ(results.metrics[1].scale, Scale::linear);
    ASSERT_EQ(results.absent.size(), 1U);
    EXPECT_EQ(results.absent[0].metric, "w (tasks=2)/cycles");
    EXPECT_EQ(results.absent[0].reason, "not supported here");
    EXPECT_THAT(results.notes, ElementsAre("not used: 1 values of the control arm",
                                           "not used: 1 values of the relinked arm", "not used: 1 values of warm-ups"));
}

TEST(Csv, names_the_line_and_what_would_be_right) {
    EXPECT_EQ(complaint("arm,value\na,1\nb,fast\n"),
              "in:3: value: expected a number such as 12.5, or nothing where there is none, not 'fast'");
    EXPECT_EQ(complaint("arm,value\na,1\nb,nan\n"),
              "in:3: value: expected a number such as 12.5, or nothing where there is none, not 'nan'");
    EXPECT_EQ(complaint("1\n2\nx\n"), "in:3: expected a number such as 12.5, one a line, not 'x'");
    EXPECT_EQ(complaint("arm;value\na;1\n"),
              "in:2: expected a number such as 12.5, one a line, not 'a;1'; columns are separated by commas");
    EXPECT_EQ(complaint("arm,value\na,1,2\n"), "in:2: 3 fields, but the header has 2");
    EXPECT_EQ(complaint("arm,block,value\na,one,2\n"), "in:2: block: expected a whole number from 0, not 'one'");
    EXPECT_EQ(complaint("arm,arm,value\na,a,2\n"), "in:1: column 'arm' appears twice");
    EXPECT_EQ(complaint("arm,value\n,2\n"), "in:2: arm is empty: name it, or leave the column out");
    EXPECT_EQ(complaint("arm,iteration,value\na,1,2\na,1,3\n"),
              "in:3: a second value of value in the same iteration and arm");
    EXPECT_THAT(complaint("arm,valeu\na,2\n"),
                HasSubstr("in:1: there is no column 'value' (is it 'valeu'?): the columns"));
    EXPECT_THAT(complaint("1,2\n3,4\n"), HasSubstr("in:1: '1' stands where the names of the columns should"));
    EXPECT_EQ(complaint("metric,unit,value\nt,ns,1\nt,s,2\n"), "in:3: metric t is in 's' here, but in 'ns' further up");
    EXPECT_EQ(complaint("arm,value\n\"a,1\n"), "in:2: a quoted field without its closing quote");
    EXPECT_THAT(complaint("arm,value\n\"a\"b,1\n"), HasSubstr("in:2: text after the closing quote"));
    EXPECT_EQ(complaint("arm,value\na,\n"), "in: there is no value in the file");
    EXPECT_EQ(complaint("arm,value\n"), "in: there is no value in the file");
    EXPECT_EQ(complaint(" \n\n"), "in: the file is empty");
    EXPECT_EQ(complaint(std::string("a\0b", 3)), "in: this is no text file");
}

TEST(Csv, counts_lines_inside_quotes) {
    EXPECT_THAT(complaint("arm,value\n\"a\nb\",1\nc,x\n"), HasSubstr("in:4: value"));
}

}  // namespace
}  // namespace kab::results
