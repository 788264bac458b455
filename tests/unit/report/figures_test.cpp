#include "daemon/report/figures.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "common/files.h"
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
    EXPECT_EQ(quantity(0, "ns"), "0 ns");
    EXPECT_EQ(quantity(0.0000123, "ns"), "1.23e-05 ns");
}

TEST(Figures, CountsAreReadable) {
    EXPECT_EQ(quantity(37516, "1"), "37,516");
    EXPECT_EQ(quantity(999, "1"), "999");
    EXPECT_EQ(quantity(2.5, "1"), "2.500");
    EXPECT_EQ(quantity(213318802, "1"), "213.3 M");
    EXPECT_EQ(quantity(5739887800, "1"), "5.740 G");
    EXPECT_EQ(quantity(-1234567, "1"), "-1.235 M");
    EXPECT_EQ(quantity(12.5, "MB/s"), "12.5 MB/s");
    EXPECT_EQ(quantity(37950, "1/s"), "37,950/s");
    EXPECT_EQ(quantity(5048409, "1/s"), "5.048 M/s");
}

TEST(Figures, SpreadsAsInThePublishedTable) {
    EXPECT_EQ(with_spread(1.177e9, 0.034, "ns"), "1.177 s ±3.4%");
    EXPECT_EQ(with_spread(37516, 0.0044, "1"), "37,516 ±0.44%");
    EXPECT_EQ(with_spread(0.667e9, 0.121, "ns"), "667.0 ms ±12.1%");
}

TEST(Figures, AnUnknownSpreadIsNoZero) {
    EXPECT_EQ(with_spread(1.2e9, std::nullopt, "ns"), "1.200 s ±-");
    EXPECT_EQ(share(0), "0%");
    EXPECT_EQ(share(0.00001), "<0.01%");
}

TEST(Figures, SmallValuesKeepTheirFigures) {
    EXPECT_EQ(quantity(0.00042, "1"), "4.20e-04");
    EXPECT_EQ(quantity(0.0123, "1"), "0.0123");
    EXPECT_EQ(ratio(0.00123), "0.00123");
    EXPECT_EQ(ratio(0.000042), "4.20e-05");
    EXPECT_EQ(quantity(-0.0, "1"), "0");
}

TEST(Figures, OnlyFarBoundsAreCut) {
    const stats::Series log;
    EXPECT_EQ(interval({1495, 1421, 1573, 0.95}, log), "1421 to 1573");
    EXPECT_EQ(interval({0.0005, 0.0004, 0.0006, 0.95}, log), "4.00e-04 to 6.00e-04");
    EXPECT_EQ(interval({0.9, 1e-9, 1e9, 0.95}, log), "<0.001 to >1000");
    EXPECT_EQ(interval({433.8, 2e-9, 8e13, 0.95}, log), "<0.001 to >100000");
}

TEST(Figures, EffectsAreRatiosOrDifferences) {
    stats::Series log, linear;
    linear.scale = Scale::linear;
    linear.unit = "1";
    EXPECT_EQ(effect(0.8081, log), "0.808");
    EXPECT_EQ(effect(388.21, log), "388.2");
    EXPECT_EQ(effect(12.5, linear), "+12.50");
    EXPECT_EQ(effect(-3, linear), "-3");
    EXPECT_EQ(effect(0, linear), "+0");
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

TEST(Layout, AVeryLongLabelIsFoldedBeforeTheTableIsSplit) {
    Table table;
    table.caution = "emulated: not evidence for hardware";
    table.header = {"metric", "ratio", "interval", "adj. p", "n", "verdict"};
    table.align = "lrrrrl";
    table.rows.push_back(
        {"stalled-cycles-frontend", "+12.50", "-22,227 to +22,223", "<0.0001", "10", "inconclusive ~"});
    const auto text = to_text({"Wide", {{"", {table}}}});
    EXPECT_EQ(text.find("metric"), text.rfind("metric")) << text;
    EXPECT_NE(text.find("\nfrontend\n"), std::string::npos) << text;
}

TEST(Layout, EveryPartOfASplitTableHasItsCaution) {
    Table table;
    table.caution = "emulated: not evidence for hardware";
    table.header = {"metric", std::string(50, 'a'), std::string(50, 'b')};
    table.align = "lrr";
    table.rows.push_back({"elapsed", "1", "2"});
    const auto text = to_text({"Wide", {{"", {table}}}});
    EXPECT_NE(text.find(table.caution), text.rfind(table.caution)) << text;
}

/// What a shell makes of it: its arguments, a line each.
std::vector<std::string> arguments(const std::string& command) {
    const auto directory = TempDir::make("kab-shell-");
    EXPECT_TRUE(directory);
    const auto script = directory->path() / "script", out = directory->path() / "out";
    EXPECT_TRUE(write_file(script, "set -- " + command + "\nfor word; do printf '%s\\0' \"$word\"; done\n"));
    EXPECT_EQ(std::system(fmt::format("sh {} > {}", script.string(), out.string()).c_str()), 0);
    const auto text = read_file(out);
    EXPECT_TRUE(text);
    std::vector<std::string> words;
    for (std::size_t at = 0; text && at < text->size(); at = text->find('\0', at) + 1)
        words.push_back(text->substr(at, text->find('\0', at) - at));
    return words;
}

TEST(Layout, AShellReadsTheCommandAsItIs) {
    const std::string deep =
        "/home/me/kernel experiments/" + std::string(90, 'd') + "/it's a $HOME `x` \"y\" \\ !z.yaml";
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"kab", "run", "--seed", "18446744073709551557", deep},
             {"kab", "run", "--seed", "1", "/" + std::string(200, 'p') + ".yaml"},
             {"kab", "query", "SELECT * FROM v_sample WHERE evaluation = '01KDXF00010000000000000000'"},
             {"kab", "run", "two words.yaml", ""}}) {
        const Document document{"Commands", {{"", {Commands{{words}}}}}};
        const auto text = to_text(document);
        std::string first, line, command;
        std::istringstream lines(text);
        for (int i = 0; i < 3; ++i) std::getline(lines, first);
        while (std::getline(lines, line)) {
            EXPECT_LE(display_width(line), text_width) << line;
            command += line + "\n";
        }
        command.pop_back();
        EXPECT_EQ(arguments(command), words) << text;
        const auto markdown = to_markdown(document);
        const auto begin = markdown.find("```sh\n") + 6;
        EXPECT_EQ(arguments(markdown.substr(begin, markdown.rfind("\n```") - begin)), words) << markdown;
    }
}

}  // namespace
}  // namespace kab::report
