// How quiet the machine was, as a report says it.
#include "daemon/report/conditions.h"

#include <gmock/gmock.h>

#include "daemon/report/compose.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using testing::HasSubstr;
using testing::Not;

kab::test::SampleOptions noisy() {
    kab::test::SampleOptions options;
    options.noisy = true;
    return options;
}

/// One line of all text, so that nothing depends on where a line was broken.
std::string flat(const ReportInput& report, bool explain = false) {
    std::string text = render_text(report, explain), out;
    for (const char c : text)
        if ((c != ' ' && c != '\n') || (!out.empty() && out.back() != ' ')) out += c == '\n' ? ' ' : c;
    return out;
}

const ConditionSummary& of(const std::vector<ConditionSummary>& all, const std::string& name) {
    for (const auto& one : all)
        if (one.name == name) return one;
    static const ConditionSummary none;
    ADD_FAILURE() << "no " << name;
    return none;
}

TEST(Conditions, AreSummedUpOverTheRunsThatCount) {
    const auto report = test::changed(noisy(), [](ReportInput&) {});
    const auto all = summarise_conditions(report);
    ASSERT_EQ(all.size(), 5U);
    // 24 boots of 8 runs, of which the first is a warm-up.
    const auto& steal = of(all, "steal");
    EXPECT_EQ(steal.runs, 24 * 7);
    EXPECT_EQ(steal.worst, 0.018);
    EXPECT_EQ(steal.worst_block, 5);
    EXPECT_EQ(steal.worst_seq, 4);
    EXPECT_EQ(steal.median, 0.002);
    EXPECT_EQ(steal.bound, 0.02);
    EXPECT_EQ(steal.above_usual, 0);
    EXPECT_EQ(of(all, "host-load").above_usual, 24 * 2);
    EXPECT_FALSE(of(all, "host-load").bound);
    const auto& throttled = of(all, "throttled");
    EXPECT_EQ(throttled.absent, 24 * 7);
    EXPECT_EQ(throttled.bound, 0);
    EXPECT_FALSE(throttled.worst);
}

TEST(Conditions, ACanaryIsShownAsHowMuchSlowerItWasThanItsBlocksFastest) {
    const auto report = test::changed(noisy(), [](ReportInput& rows) {
        // A machine that became twice as slow from one block to the next is as quiet as before.
        for (auto& row : rows.conditions)
            if (row.name == "canary" && row.block == 2) *row.value *= 2;
    });
    const auto all = summarise_conditions(report);
    const auto& canary = of(all, "canary");
    EXPECT_EQ(canary.worst_block, 5);
    EXPECT_NEAR(*canary.worst, 0.42, 1e-9);
    EXPECT_EQ(canary.above_usual, 4);
}

TEST(Conditions, ACanaryThatTookNoTimeIsNone) {
    const auto plain = test::changed(noisy(), [](ReportInput&) {});
    const auto report = test::changed(noisy(), [](ReportInput& rows) {
        for (auto& row : rows.conditions)
            if (row.name == "canary" && row.seq == 3) row.value = 0;
    });
    const auto all = summarise_conditions(report), before = summarise_conditions(plain);
    EXPECT_EQ(of(all, "canary").runs, of(before, "canary").runs - 24);
    EXPECT_EQ(of(all, "canary").absent, of(before, "canary").absent + 24);
}

TEST(Conditions, WarnsOfACanaryThatWasSlowTooOften) {
    const auto report = test::changed(noisy(), [](ReportInput& rows) {
        for (auto& row : rows.conditions)
            if (row.name == "canary" && row.seq == 3) row.value = 6e6;
    });
    EXPECT_THAT(flat(report), HasSubstr("warning: the canary was slower than its block's fastest by more than 10.0% in "
                                        "28 of 168 runs, and no exclusion was declared; exclude: {canary: 10.0%}"));
}

TEST(Conditions, BlocksAfterTheLastLookAreInNoFigureHereEither) {
    auto options = noisy();
    options.blocks = 7;
    const auto report = test::changed(options, [](ReportInput& rows) {
        for (auto& row : rows.conditions)
            if (row.name == "steal" && row.block == 7) row.value = 0.9;
    });
    ASSERT_EQ(report.look, 0);
    EXPECT_EQ(of(summarise_conditions(report), "steal").worst, 0.018);
}

TEST(Conditions, WithoutAnyThereIsNoSection) {
    const auto report = test::changed({}, [](ReportInput&) {});
    EXPECT_TRUE(summarise_conditions(report).empty());
    EXPECT_TRUE(conditions_section(report).parts.empty());
    EXPECT_THAT(flat(report), Not(HasSubstr("How quiet the machine was")));
}

TEST(Conditions, WarnsWhereNothingWasDeclaredAndWhereWhatWasDeclaredIsNotKnown) {
    const auto report = test::changed(noisy(), [](ReportInput&) {});
    const auto text = flat(report);
    EXPECT_THAT(text, HasSubstr("warning: host-load was above 0.5 in 48 of 168 runs, and no exclusion was declared"));
    EXPECT_THAT(text, HasSubstr("exclude.throttled was declared, but could not be judged in 168 of 168 runs: the host "
                                "does not tell"));
    EXPECT_THAT(text, Not(HasSubstr("warning: run-delay"))) << "one bad run in twenty is nothing unusual";
    EXPECT_THAT(text, Not(HasSubstr("warning: steal")));
}

TEST(Conditions, AThrottledCpuIsWarnedOfAtOnce) {
    const auto report = test::changed(noisy(), [](ReportInput& rows) {
        bool first = true;
        for (auto& row : rows.conditions) {
            if (row.name != "throttled" || row.warmup) continue;
            row.value = first ? 2 : 0;
            row.reason.clear();
            first = false;
        }
        rows.tree.evaluation.experiment_json.replace(rows.tree.evaluation.experiment_json.find(R"("throttled":true)"),
                                                     16, R"("throttled":false)");
    });
    EXPECT_THAT(flat(report), HasSubstr("warning: CPUs of the host were throttled in 1 of 168 runs, and no exclusion"));
}

TEST(Conditions, EveryExcludedTryIsListedWithItsCauseAndThereIsACountOfEach) {
    const auto report = test::changed(noisy(), [](ReportInput&) {});
    const auto text = flat(report);
    EXPECT_THAT(text, HasSubstr("block 2 is excluded and was booted again: steal was 7.3%"));
    EXPECT_THAT(text, HasSubstr("block 4 (try 2) is excluded and was booted again: steal was 7.3%"));
    EXPECT_THAT(text, HasSubstr("block 3 is excluded and was booted again: interrupted"));
    EXPECT_THAT(text, HasSubstr("excluded, by cause: interrupted 1, steal 3"));
    EXPECT_THAT(flat(report, true), HasSubstr("block 4, try 1: steal was 7.3%"));
}

TEST(Conditions, JsonHasThemAndTheExclusions) {
    const auto json = parse_json(render_json(test::changed(noisy(), [](ReportInput&) {})));
    ASSERT_TRUE(json);
    const auto& conditions = json->at("conditions");
    ASSERT_EQ(conditions.size(), 5U);
    EXPECT_EQ(conditions[0].at("condition"), "steal");
    EXPECT_EQ(conditions[0].at("worst"), 0.018);
    EXPECT_EQ(conditions[0].at("excluded_above"), 0.02);
    EXPECT_TRUE(conditions[2].at("excluded_above").is_null());
    EXPECT_TRUE(conditions[4].at("worst").is_null());
    const auto& exclusions = json->at("exclusions");
    ASSERT_EQ(exclusions.size(), 4U);
    EXPECT_EQ(exclusions[0].at("block"), 2);
    EXPECT_EQ(exclusions[0].at("cause"), "steal");
}

}  // namespace
}  // namespace kab::report
