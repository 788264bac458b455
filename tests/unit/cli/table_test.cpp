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
