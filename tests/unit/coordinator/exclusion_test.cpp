// What was declared to exclude, applied to the conditions of a block's runs.
#include "daemon/coordinator/exclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kab {
namespace {

using testing::HasSubstr;

store::ConditionRow condition(const std::string& name, std::optional<double> value, std::int64_t seq = 1,
                              const std::string& arm = "base") {
    store::ConditionRow row;
    row.name = name;
    row.value = value;
    row.seq = seq;
    row.arm = arm;
    row.kind = "timed";
    if (!value) row.reason = "cannot be had";
    return row;
}

Exclude all_causes() {
    Exclude exclude;
    exclude.throttled = true;
    exclude.steal = 0.02;
    exclude.run_delay = 0.05;
    exclude.host_load = 0.5;
    exclude.canary = 0.1;
    return exclude;
}

std::string cause_of(const std::vector<store::ConditionRow>& rows, const Exclude& exclude = all_causes()) {
    const auto found = judge_block(rows, exclude);
    return found ? found->cause : "none";
}

TEST(Exclusion, KnowsWhetherAnythingIsDeclared) {
    EXPECT_FALSE(declares({}));
    EXPECT_TRUE(declares(all_causes()));
    for (int which = 0; which < 5; ++which) {
        Exclude one;
        if (which == 0) one.throttled = true;
        if (which == 1) one.steal = 0.1;
        if (which == 2) one.run_delay = 0.1;
        if (which == 3) one.host_load = 0.1;
        if (which == 4) one.canary = 0.1;
        EXPECT_TRUE(declares(one)) << which;
    }
}

TEST(Exclusion, NothingIsExcludedForWhatWasNotDeclared) {
    const std::vector rows{condition("steal", 0.9),   condition("run-delay", 0.9), condition("host-load", 9),
                           condition("throttled", 3), condition("canary", 4e6),    condition("canary", 9e6, 2)};
    EXPECT_EQ(cause_of(rows, {}), "none");
}

TEST(Exclusion, EachCauseHitsAboveItsBoundAndNotAtIt) {
    EXPECT_EQ(cause_of({condition("steal", 0.02)}), "none");
    EXPECT_EQ(cause_of({condition("steal", 0.0201)}), "steal");
    EXPECT_EQ(cause_of({condition("run-delay", 0.05)}), "none");
    EXPECT_EQ(cause_of({condition("run-delay", 0.051)}), "run-delay");
    EXPECT_EQ(cause_of({condition("host-load", 0.5)}), "none");
    EXPECT_EQ(cause_of({condition("host-load", 1)}), "host-load");
    EXPECT_EQ(cause_of({condition("throttled", 0)}), "none");
    EXPECT_EQ(cause_of({condition("throttled", 1)}), "throttled");
    EXPECT_EQ(cause_of({condition("canary", 4e6), condition("canary", 4.39e6, 2)}), "none");
    EXPECT_EQ(cause_of({condition("canary", 4e6), condition("canary", 4.41e6, 2)}), "canary");
    EXPECT_EQ(cause_of({condition("canary", 0), condition("canary", 4e6, 2), condition("canary", 5e6, 3)}), "canary")
        << "one that took no time is none";
    EXPECT_EQ(cause_of({condition("canary", 0), condition("canary", -1, 2)}), "none");
}

TEST(Exclusion, TheFirstCauseInAFixedOrderIsNamedWhateverTheOrderOfTheRows) {
    std::vector rows{condition("canary", 4e6),    condition("canary", 9e6, 2), condition("host-load", 3),
                     condition("run-delay", 0.3), condition("steal", 0.3),     condition("throttled", 2)};
    for (const char* first : {"throttled", "steal", "run-delay", "host-load", "canary", "none"}) {
        EXPECT_EQ(cause_of(rows), first);
        std::erase_if(rows, [&](const auto& row) { return row.name == first; });
    }
}

TEST(Exclusion, EveryDetailBeginsWithItsCause) {
    for (const auto& row : {condition("throttled", 2), condition("steal", 0.3), condition("run-delay", 0.3),
                            condition("host-load", 3), condition("canary", 9e6, 2)}) {
        const auto found = judge_block({row, condition("canary", 4e6)}, all_causes());
        ASSERT_TRUE(found) << row.name;
        EXPECT_THAT(found->detail, testing::StartsWith(row.name));
        EXPECT_EQ(found->cause, row.name);
    }
}

TEST(Exclusion, NamesTheWorstRunItsValueAndTheBound) {
    const auto found = judge_block(
        {condition("steal", 0.03, 2, "base"), condition("steal", 0.073, 4, "patched"), condition("steal", 0.05, 5)},
        all_causes());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->detail, "steal was 7.3% of the host's CPU time in run 4 of patched, more than 2%");
}

TEST(Exclusion, ACanaryIsComparedWithTheFastestOfTheBlockOfAnyArmAndOfWarmUpsToo) {
    auto warmup = condition("canary", 3e6, 1, "patched");
    warmup.warmup = true;
    const auto found = judge_block({condition("canary", 4e6, 2), warmup}, all_causes());
    ASSERT_TRUE(found);
    EXPECT_THAT(found->detail, HasSubstr("canary was 4.000 ms in run 2 of base"));
    EXPECT_THAT(found->detail, HasSubstr("33.3% slower than the block's fastest (3.000 ms), more than 10%"));
}

TEST(Exclusion, WarmUpsChecksAndWhatIsAbsentDoNotExclude) {
    auto warmup = condition("steal", 0.9);
    warmup.warmup = true;
    auto check = condition("steal", 0.9);
    check.kind = "check";
    auto slow = condition("canary", 9e6);
    slow.warmup = true;
    EXPECT_EQ(cause_of({warmup, check, condition("steal", std::nullopt), condition("run-delay", std::nullopt), slow,
                        condition("canary", 4e6, 2), condition("canary", std::nullopt, 3)}),
              "none");
    EXPECT_EQ(cause_of({}), "none");
}

TEST(Exclusion, IsBlindToTheArm) {
    for (const char* arm : {"base", "patched", "A'"}) EXPECT_EQ(cause_of({condition("steal", 0.03, 1, arm)}), "steal");
}

TEST(Exclusion, ACanaryOfNoTimeIsNoMeasure) {
    EXPECT_EQ(cause_of({condition("canary", 0), condition("canary", 4e6, 2)}), "none");
}

}  // namespace
}  // namespace kab
