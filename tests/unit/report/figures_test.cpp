#include "daemon/report/figures.h"

#include <gtest/gtest.h>

#include "daemon/report/document.h"

namespace kab::report {
namespace {

TEST(Figures, TimesHaveFourFiguresAndAUnit) {
    EXPECT_EQ(quantity(1.177e9, "ns"), "1.177 s");
    EXPECT_EQ(quantity(4.40e9, "ns"), "4.400 s");
    EXPECT_EQ(quantity(11.234e6, "ns"), "11.23 ms");
    EXPECT_EQ(quantity(999.999e6, "ns"), "1.000 s");
    EXPECT_EQ(quantity(412.34e3, "ns"), "412.3 us");
    EXPECT_EQ(quantity(87, "ns"), "87.00 ns");
    EXPECT_EQ(quantity(0, "ns"), "0.000 ns");
}

TEST(Figures, CountsAreReadable) {
    EXPECT_EQ(quantity(37516, "1"), "37,516");
    EXPECT_EQ(quantity(999, "1"), "999");
    EXPECT_EQ(quantity(2.5, "1"), "2.500");
    EXPECT_EQ(quantity(213318802, "1"), "213.3 M");
    EXPECT_EQ(quantity(5739887800, "1"), "5.740 G");
    EXPECT_EQ(quantity(-1234567, "1"), "-1.235 M");
    EXPECT_EQ(quantity(12.5, "MB/s"), "12.5 MB/s");
}

TEST(Figures, SpreadsAsInThePublishedTable) {
    EXPECT_EQ(with_spread(1.177e9, 0.034, "ns"), "1.177 s ±3.4%");
    EXPECT_EQ(with_spread(37516, 0.0044, "1"), "37,516 ±0.44%");
    EXPECT_EQ(with_spread(0.667e9, 0.121, "ns"), "667.0 ms ±12.1%");
}

TEST(Figures, EffectsAreRatiosOrDifferences) {
    stats::Series log, linear;
    linear.scale = Scale::linear;
    linear.unit = "1";
    EXPECT_EQ(effect(0.8081, log), "0.808");
    EXPECT_EQ(effect(388.21, log), "388.2");
    EXPECT_EQ(effect(12.5, linear), "+12.50");
    EXPECT_EQ(effect(-3, linear), "-3");
    EXPECT_EQ(interval({0.8, 0.7812, 0.8358, 0.95}, log), "0.781 to 0.836");
    EXPECT_EQ(interval({0.8, 1e-15, 6e14, 0.95}, log), "<0.001 to >1000");
    EXPECT_EQ(p_value(0.00004), "<0.0001");
    EXPECT_EQ(p_value(0.0123), "0.012");
}

TEST(Layout, WrapsByColumnsNotBytes) {
    EXPECT_EQ(display_width("±±"), 2U);
    EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrap("abcdefghij", 4), (std::vector<std::string>{"abcd", "efgh", "ij"}));
    EXPECT_EQ(wrap("stalled-cycles-frontend", 15), (std::vector<std::string>{"stalled-cycles-", "frontend"}));
    EXPECT_EQ(wrap("", 10), (std::vector<std::string>{""}));
    EXPECT_EQ(wrap("  deep in the text", 8), (std::vector<std::string>{"  deep", "  in the", "  text"}));
    EXPECT_EQ(wrap("about " + unbroken("1.2 s") + " now", 9),
              (std::vector<std::string>{"about", unbroken("1.2 s") + " now"}));
    EXPECT_EQ(plain(unbroken("1.2 s")), "1.2 s");
}

TEST(Layout, ATableThatIsTooWideGoesOnBelow) {
    Table table;
    table.header = {"metric"};
    table.align = "l";
    std::vector<std::string> row{"elapsed"};
    for (int arm = 0; arm < 9; ++arm) {
        table.header.push_back("arm-number-" + std::to_string(arm));
        table.align += 'r';
        row.push_back("1.177 s ±3.4%");
    }
    table.rows.push_back(row);
    Document document{"Wide", {{"", {table}}}};
    const auto text = to_text(document);
    std::size_t elapsed = 0;
    for (std::size_t at = text.find("elapsed"); at != std::string::npos; at = text.find("elapsed", at + 1)) ++elapsed;
    EXPECT_EQ(elapsed, 3U);
    EXPECT_NE(text.find("arm-number-8"), std::string::npos);
}

}  // namespace
}  // namespace kab::report
