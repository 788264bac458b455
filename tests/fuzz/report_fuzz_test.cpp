// Odd evaluations through the analysis and every form of its report: no crash, no interval without its n, no "nan" or
// "inf", no line over 78 columns. KAB_FUZZ_SEEDS=N takes N seeds instead of the usual ones, KAB_FUZZ_FIRST=K the first
// of them (default 1): `KAB_FUZZ_FIRST=4711 KAB_FUZZ_SEEDS=1 test_fuzz` repeats one that failed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <string>

#include "common/json.h"
#include "daemon/report/document.h"
#include "daemon/report/report.h"
#include "daemon/stats/random.h"
#include "tests/fuzz/odd_report.h"

namespace kab::report {
namespace {

constexpr std::uint64_t usual_seeds = 300;

std::uint64_t from_environment(const char* name, std::uint64_t usual) {
    const char* text = std::getenv(name);
    return text == nullptr ? usual : std::stoull(text);
}

/// Around a "nan" or "inf" that is a word of its own; empty when there is none.
std::string no_number(const std::string& text) {
    const auto letter = [&](std::size_t at) {
        return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
    };
    std::string lower = text;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const std::string word : {"nan", "inf", "infinity"})
        for (auto at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1))
            if ((at == 0 || !letter(at - 1)) && !letter(at + word.size()))
                return text.substr(at < 60 ? 0 : at - 60, 120);
    return "";
}

std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }), text.end());
    return text;
}

/// "(95% interval 0.9 to 1.1, n = 6 blocks)": the first interval with neither "n = " nor "6 blocks" before its bracket
/// closes; empty when there is none.
std::string interval_without_n(const std::string& text) {
    static const std::regex count("(n = |, )[1-9][0-9]* (block|boot)");
    const std::string mark = "% interval ";
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
        std::string rest = text.substr(at, std::min(text.find(')', at), at + 400) - at);
        if (!std::regex_search(rest, count)) return rest;
    }
    return "";
}

void check_text(const std::string& text, const char* form) {
    EXPECT_EQ(no_number(text), "") << form;
    EXPECT_EQ(interval_without_n(one_line(text)), "") << form;
}

void check_width(const std::string& text) {
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        EXPECT_LE(display_width(line), text_width) << line;
        begin = end + 1;
    }
}

/// A row with an interval has an n of at least 2, and its bounds are in order.
void check_rows(const std::string& text) {
    const auto json = parse_json(text);
    ASSERT_TRUE(json) << json.error().text();
    for (const auto& row : json->at("comparisons"))
        for (const char* kind : {"", "rank_"}) {
            const auto &low = row.at(kind + std::string("low")), &high = row.at(kind + std::string("high"));
            EXPECT_EQ(low.is_null(), high.is_null()) << row.dump();
            if (low.is_null()) continue;
            EXPECT_GE(row.at("n").get<int>(), 2) << row.dump();
            EXPECT_LE(low.get<double>(), high.get<double>()) << row.dump();
        }
    for (const auto& row : json->at("comparisons"))
        for (const char* p : {"p", "p_sequential", "p_adjusted", "p_rank", "p_equivalence"}) {
            const double value = row.at(p).is_null() ? 0 : row.at(p).get<double>();
            EXPECT_TRUE(value >= 0 && value <= 1) << p << row.dump();
        }
}

void check_forms(const ReportInput& report) {
    for (const bool explain : {false, true}) {
        const auto text = render_text(report, explain);
        check_text(text, "text");
        check_width(text);
        check_text(render_markdown(report, explain), "markdown");
    }
    const auto json = render_json(report), csv = render_csv(report);
    check_text(json, "json");
    check_rows(json);
    EXPECT_EQ(no_number(csv), "") << "csv";
}

/// The order in which the samples come is none of the analysis' business: the same output, bit for bit.
void check_order(const ReportInput& report, std::uint64_t seed) {
    auto input = report.input;
    stats::SplitMix random(seed);
    random.shuffle(input.observations);
    const auto again = stats::analyse(input), before = stats::analyse(report.input);
    ASSERT_EQ(again.comparisons.size(), before.comparisons.size());
    for (std::size_t i = 0; i < again.comparisons.size(); ++i) {
        EXPECT_EQ(again.comparisons[i].sentence, before.comparisons[i].sentence);
        EXPECT_EQ(again.comparisons[i].p, before.comparisons[i].p);
        EXPECT_EQ(again.comparisons[i].t, before.comparisons[i].t);
    }
    EXPECT_EQ(again.sentence, before.sentence);
    EXPECT_EQ(again.warnings, before.warnings);
}

TEST(ReportFuzz, OddEvaluationsNeverBreakIt) {
    const auto first = from_environment("KAB_FUZZ_FIRST", 1);
    const auto count = from_environment("KAB_FUZZ_SEEDS", usual_seeds);
    std::uint64_t refused = 0;
    for (auto seed = first; seed < first + count; ++seed) {
        const auto report = assemble(test::odd_report(seed));
        if (!report) {
            EXPECT_EQ(no_number(report.error().text()), "");
            ++refused;
        } else {
            check_forms(*report);
            check_order(*report, seed);
        }
        if (HasFailure()) FAIL() << "KAB_FUZZ_FIRST=" << seed << " KAB_FUZZ_SEEDS=1";
    }
    EXPECT_LT(refused, count / 4 + 1);  // most of them must reach the analysis
}

TEST(ReportFuzz, AMillionSamples) {
    const auto report = assemble(test::large_report(1000000));
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_GE(report->samples.size(), 1000000U);
    const auto text = render_text(*report, true);
    check_text(text, "text");
    check_width(text);
    const auto json = render_json(*report);
    check_text(json, "json");
    check_rows(json);
    const auto csv = render_csv(*report);
    EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), report->samples.size() + 1);
}

TEST(ReportFuzz, TheChecksFindWhatTheyLookFor) {
    EXPECT_NE(no_number("ratio nan (95%"), "");
    EXPECT_NE(no_number("-INF"), "");
    EXPECT_EQ(no_number("infra-error, information, banana"), "");
    EXPECT_NE(interval_without_n("(95% interval 1 to 2, adjusted p 0.5)"), "");
    EXPECT_NE(interval_without_n("(95% interval 1 to 2, n = 0 blocks)"), "");
    EXPECT_EQ(interval_without_n("(95% interval 1 to 2, n = 6 blocks)"), "");
}

}  // namespace
}  // namespace kab::report
