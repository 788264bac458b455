// Whole reports, compared with tests/golden/report. After a wanted change: KAB_UPDATE_GOLDEN=1 test_report, then read
// the difference before committing it.
#include "daemon/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "daemon/report/document.h"
#include "tests/support/database/sample_database.h"

namespace kab::report {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Case {
    const char* name;
    test::SampleOptions options;
};

test::SampleOptions with(void (*change)(test::SampleOptions&)) {
    test::SampleOptions options;
    change(options);
    return options;
}

std::vector<Case> cases() {
    return {
        {"emulated", {}},
        {"hardware-counters", with([](auto& o) {
             o.emulated = false;
             o.hardware_counters = true;
         })},
        {"swept", with([](auto& o) { o.swept = true; })},
        {"decided-at-a-point", with([](auto& o) { o.swept = o.at_one = true; })},
        {"failing-arm", with([](auto& o) { o.crashing_arm = "deferred-free"; })},
        {"stopped-arm", with([](auto& o) {
             o.crashing_arm = "deferred-free";
             o.stopped = true;
             o.interrupted_block = false;
         })},
        {"noisy", with([](auto& o) { o.noisy = true; })},
        {"profiled", with([](auto& o) { o.profile_iterations = 1; })},
        {"same-code", with([](auto& o) { o.same_code = true; })},
        {"build-failure", with([](auto& o) { o.failing_build = "per-ns-work"; })},
        {"no-block", with([](auto& o) {
             o.blocks = 0;
             o.status = "failed";
         })},
        {"still-running", with([](auto& o) {
             o.blocks = 2;
             o.status = "running";
         })},
    };
}

ReportInput gathered(const test::SampleOptions& options) {
    const test::SampleDatabase sample(options);
    auto report = gather(*sample.store, test::sample_evaluation());
    EXPECT_TRUE(report) << report.error().text();
    return report ? std::move(*report) : ReportInput{};
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

void expect_golden(const std::string& name, const std::string& text) {
    const auto file = fs::path(KAB_SOURCE_DIR) / "tests/golden/report" / name;
    if (std::getenv("KAB_UPDATE_GOLDEN")) {
        ASSERT_TRUE(write_file(file, text));
        return;
    }
    const auto golden = read_file(file);
    ASSERT_TRUE(golden) << golden.error().text();
    EXPECT_EQ(text, *golden) << file;
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, TextIsAsAgreed) {
    expect_golden(std::string(GetParam().name) + ".txt", render_text(gathered(GetParam().options)));
}

TEST_P(Golden, NoLineIsWiderThan78Columns) {
    std::istringstream lines(render_text(gathered(GetParam().options)));
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(display_width(line), 78U) << line;
        EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    }
}

TEST_P(Golden, EveryTableOfAnEmulatedRunSaysSo) {
    const auto text = render_markdown(gathered(GetParam().options));
    std::istringstream lines(text);
    std::string before, line;
    int tables = 0;
    while (std::getline(lines, line)) {
        if (line.rfind("**", 0) == 0) {
            ++tables;
            std::string next;
            std::getline(lines, next);
            if (GetParam().options.emulated) {
                EXPECT_EQ(next, "*emulated: not evidence for hardware*") << line;
            } else {
                EXPECT_THAT(next, Not(HasSubstr("emulated")));
            }
        }
    }
    const bool measured = GetParam().options.blocks > 0 && GetParam().options.failing_build.empty();
    EXPECT_GE(tables, measured ? 4 : 0);
}

TEST_P(Golden, JsonAndCsvAreWellFormed) {
    const auto report = gathered(GetParam().options);
    const auto json = parse_json(render_json(report));
    ASSERT_TRUE(json) << json.error().text();
    EXPECT_EQ(json->at("evaluation"), test::sample_evaluation());
    EXPECT_EQ(json->at("arms").size(), 4U);
    const auto csv = render_csv(report);
    std::size_t rows = 0;
    for (const auto& line : lines_of(csv)) rows += line.find(",symbol:") == std::string::npos;
    EXPECT_EQ(rows, report.samples.size() + 1);
    EXPECT_EQ(csv.find('\r'), std::string::npos);
}

TEST_P(Golden, TheSameDatabaseGivesTheSameBytes) {
    EXPECT_EQ(render_json(gathered(GetParam().options)), render_json(gathered(GetParam().options)));
}

INSTANTIATE_TEST_SUITE_P(Report, Golden, testing::ValuesIn(cases()), [](const auto& instance) {
    std::string name = instance.param.name;
    for (auto& c : name)
        if (c == '-') c = '_';
    return name;
});

TEST(Report, MarkdownIsAsAgreed) {
    expect_golden("emulated.md", render_markdown(gathered({})));
}

TEST(Report, ExplainsEveryComparisonWhenAsked) {
    const auto report = gathered({});
    const auto text = render_text(report, true);
    expect_golden("explained.txt", text);
    for (const auto& line : lines_of(text)) EXPECT_LE(display_width(line), text_width) << line;
    std::size_t explained = 0;
    for (auto at = text.find("\nverdict "); at != std::string::npos; at = text.find("\nverdict ", at + 1)) ++explained;
    EXPECT_EQ(explained, report.output.comparisons.size());
    for (const auto* word : {"alpha spent", "degrees of freedom", "Hodges-Lehmann", "two one-sided tests",
                             "block 3, try 1: interrupted", "no hardware counters"})
        EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST_P(Golden, AnExplanationIsNoWiderAndHasNoOddNumbers) {
    const auto text = render_text(gathered(GetParam().options), true);
    for (const auto& line : lines_of(text)) EXPECT_LE(display_width(line), text_width) << line;
    EXPECT_FALSE(std::regex_search(text, std::regex("\\b(nan|inf)\\b"))) << text;
}

TEST(Report, ShowsEveryRowOfThePublishedTable) {
    const auto text = render_text(gathered(with([](auto& o) {
        o.emulated = false;
        o.hardware_counters = true;
    })));
    for (const char* row :
         {"\nelapsed ", "\ntask-clock ", "\n  CPUs utilized ", "\ncontext-switches ", "\ncpu-migrations ",
          "\npage-faults ", "\ncycles ", "\nstalled-cycles-frontend ", "\nstalled-cycles-backend ", "\ninstructions ",
          "\n  instructions / cycle ", "\nbranches ", "\nbranch-misses ", "\n  misses / branch "})
        EXPECT_THAT(text, HasSubstr(row));
    EXPECT_THAT(text, HasSubstr("84.0% of the time"));
}

TEST(Report, SaysWhyACounterIsAbsent) {
    const auto text = render_text(gathered({}));
    EXPECT_THAT(text, HasSubstr("absent [1]"));
    EXPECT_THAT(text, HasSubstr("[1] no hardware counters on this machine"));
}

TEST(Report, AGainWithAPriceIsATrade) {
    const auto report = gathered({});
    ASSERT_FALSE(report.output.trades.empty());
    const auto text = render_text(report);
    EXPECT_THAT(text, HasSubstr("A trade, not a win."));
    EXPECT_THAT(text, HasSubstr("ipcns-exit/backlog"));
}

TEST(Report, AnUnknownEvaluationIsNotFound) {
    const test::SampleDatabase sample(with([](auto& o) { o.blocks = 1; }));
    const auto report = gather(*sample.store, "01KDXFZZZZ0000000000000001");
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().fault, Fault::not_found);
}

}  // namespace
}  // namespace kab::report
