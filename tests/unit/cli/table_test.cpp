#include "cli/table.h"

#include <gtest/gtest.h>

namespace kab::cli {
namespace {

TEST(Table, ColumnsAreAlignedAndNothingBreaksALine) {
    const TextTable table{{"name", "n"}, {false, true}, {{"ü\n", "1"}, {Cell(), "1000"}, {"\x1b[31m", Cell()}}};
    EXPECT_EQ(format_table(table),
              "name      n\n"
              "-----  ----\n"
              "ü         1\n"
              "-      1000\n"
              "?[31m     -\n");
    EXPECT_EQ(format_table({{"a"}, {}, {}}), "a\n-\n");
}

TEST(Table, OneColumnYieldsWhereTheWholeIsTooWide) {
    const std::string name(30, 'n');
    const TextTable table{{"id", "name", "n"}, {false, false, true}, {{"01", name, "1"}}, 1};
    EXPECT_EQ(format_table(table).substr(0, 40), "id  name                            n\n--");
    EXPECT_EQ(format_table(table, 18),
              "id  name         n\n"
              "--  -----------  -\n"
              "01  nnnnnnnn...  1\n");
    EXPECT_EQ(format_table(table, 5), format_table(table, 15)) << "8 columns are left";
    EXPECT_EQ(format_table(table, 80), format_table(table));
}

TEST(Details, HaveTheirValuesWrappedInOneColumn) {
    EXPECT_EQ(format_details({{"cpu", "Fast One"}, {"kvm", "the probe guest did not start under KVM"}}, 24, 2),
              "  cpu  Fast One\n"
              "  kvm  the probe guest\n"
              "       did not start\n"
              "       under KVM\n");
    EXPECT_EQ(format_details({{"path", "/longer/than/that"}}, 10), "path  /longer/than/that\n");
    EXPECT_EQ(format_details({}, 10), "");
}

TEST(Text, IsWrappedAtSpaces) {
    EXPECT_EQ(wrap("one two three", 7), "one two\nthree");
    EXPECT_EQ(wrap("one two three", 13), "one two three");
    EXPECT_EQ(wrap("  one two three", 9, 4), "  one two\n    three");
    EXPECT_EQ(wrap("averylongword a averylongword", 5), "averylongword\na\naverylongword");
    EXPECT_EQ(wrap("a\x1b[31m\nb", 80), "a?[31m b");
    EXPECT_EQ(wrap("grün grün", 9), "grün grün");
    EXPECT_EQ(wrap("", 5), "");
}

TEST(Csv, QuotesWhatNeedsIt) {
    const TextTable table{{"a", "b,c"}, {}, {{"x", "say \"hi\""}, {Cell(), ""}, {"two\nlines", " "}}};
    EXPECT_EQ(format_csv(table), "a,\"b,c\"\nx,\"say \"\"hi\"\"\"\n,\"\"\n\"two\nlines\", \n");
}

TEST(Text, IsCutByColumnsNotBytes) {
    EXPECT_EQ(text_width("grün"), 4U);
    EXPECT_EQ(shorten("grün", 4), "grün");
    EXPECT_EQ(shorten("grüner", 5), "gr...");
    EXPECT_EQ(shorten("üüüüüü", 5), "üü...");
    EXPECT_EQ(shorten("abcdef", 2), "..");
}

TEST(Time, IsUtcToTheSecond) {
    EXPECT_EQ(format_time(1577836800000000000), "2020-01-01 00:00:00");
    EXPECT_EQ(format_time(std::nullopt), "-");
}

}  // namespace
}  // namespace kab::cli
