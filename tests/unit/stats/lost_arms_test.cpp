// Arms that are lost, that keep failing, or that failed their checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "daemon/stats/verdict.h"
#include "tests/unit/stats/near.h"
#include "tests/unit/stats/three_arms.h"

namespace kab::stats {
namespace {

// ---- arms that will not come ----

TEST(LostArms, AreInconclusiveAndNeverPendingOnceDecided) {
    auto input = three_arms(0, -.2, 0);
    forget(input, 2);
    input.arms[2].stopped = true;
    input.arms[2].stopped_why = "could not be built";
    input.arms[2].boots = 0;
    const auto output = analyse(input);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::improved);
    const auto& lost = primary_of(output, 2);
    EXPECT_EQ(lost.verdict, Verdict::inconclusive);
    EXPECT_EQ(lost.reason, "other could not be built");
    EXPECT_TRUE(output.decided);
    EXPECT_EQ(output.verdict, Verdict::inconclusive);
    EXPECT_TRUE(contains(output.sentence, "1 of 2 primary comparisons is decided; other could not be built"))
        << output.sentence;
    EXPECT_FALSE(output.blocks_needed.has_value());
}

TEST(LostArms, AlsoThoseWhoseBaselineWillNotCome) {
    auto input = three_arms(0, 0, 0, .05);
    input.arms[0].stopped = true;
    input.arms[0].stopped_why = "keeps hanging";
    const auto output = analyse(input);
    EXPECT_TRUE(output.decided);
    EXPECT_EQ(output.verdict, Verdict::inconclusive);
    EXPECT_TRUE(contains(output.sentence, "nothing is left to compare; base keeps hanging")) << output.sentence;
}

TEST(FailingArms, AreARegressionWithTheTestOfTheirBoots) {
    auto input = three_arms(0, 0, -.2);
    forget(input, 1);
    keeps_failing(input, 1, 3, 3);
    const auto output = analyse(input);
    const auto& c = primary_of(output, 1);
    EXPECT_EQ(c.verdict, Verdict::regressed);
    EXPECT_TRUE(c.failing);
    EXPECT_EQ(c.reason, "change fails to boot: 3 of 3 boots failed, 0 of 6 with base (Fisher's exact p = 0.012)");
    EXPECT_TRUE(contains(c.sentence, "regressed, change fails to boot")) << c.sentence;
    EXPECT_EQ(output.verdict, Verdict::regressed);
    EXPECT_TRUE(output.decided);
}

TEST(FailingArms, ComeAfterAnInvalidApparatus) {
    auto input = three_arms(0, 0, -.2);
    forget(input, 1);
    keeps_failing(input, 1, 3, 3);
    input.failed_gates = {"two clock sources"};
    const auto output = analyse(input);
    EXPECT_EQ(output.verdict, Verdict::invalid);
    EXPECT_FALSE(primary_of(output, 1).failing);
    EXPECT_EQ(primary_of(output, 1).reason, "two clock sources");
}

TEST(FailingArms, AreNoRegressionWhereTheBaselineFailsAsOften) {
    auto input = three_arms(4, 0, -.2);
    forget(input, 1, 6);
    keeps_failing(input, 1, 5, 9);
    input.arms[0].failed = 14;
    const auto output = analyse(input);
    EXPECT_FALSE(primary_of(output, 1).failing);
    EXPECT_NE(primary_of(output, 1).verdict, Verdict::regressed);
}

void fails_its_checks(Input& input, int arm) {
    auto& info = input.arms[static_cast<std::size_t>(arm)];
    info.stopped = info.failed_checks = true;
    info.stopped_why = "failed its checks";
    info.boots = 0;
}

TEST(FailedChecks, AreARegressionWithoutAnyBootThatWasTimed) {
    auto input = three_arms(0, 0, -.2);
    forget(input, 1);
    fails_its_checks(input, 1);
    const auto output = analyse(input);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::regressed);
    EXPECT_EQ(primary_of(output, 1).reason, "change failed its checks");
    EXPECT_TRUE(contains(primary_of(output, 1).sentence, "regressed, change failed its checks"));
    EXPECT_EQ(primary_of(output, 2).verdict, Verdict::improved) << "the other is judged for itself";
}

TEST(FailedChecks, NeedNoControlToVouchForThem) {
    Input input = two_arms(true);
    input.look = -1;
    for (auto& arm : input.arms) arm.boots = 0;
    fails_its_checks(input, 1);
    const auto output = analyse(input);  // nothing was measured, the control neither
    EXPECT_TRUE(output.decided);
    EXPECT_EQ(output.verdict, Verdict::regressed) << output.sentence;
}

TEST(FailedChecks, AreNoRegressionWhereTheBaselineFailedThemToo) {
    Input input = two_arms(true);
    input.look = -1;
    for (auto& arm : input.arms) arm.boots = 0;
    fails_its_checks(input, 0);
    fails_its_checks(input, 1);
    EXPECT_NE(analyse(input).verdict, Verdict::regressed);
}

TEST(FailingArms, EndAnEvaluationWithoutALook) {
    Input input = two_arms(true);
    input.look = -1;
    fill(input, 0, 2, 1, [](int b, int a, int) { return 100 + noise(b, a); });
    forget(input, 1);
    for (auto& arm : input.arms) arm.boots = 3;
    keeps_failing(input, 1, 3, 3);
    const auto output = analyse(input);
    EXPECT_TRUE(output.decided);
    EXPECT_EQ(output.verdict, Verdict::regressed);
    EXPECT_TRUE(contains(primary_of(output, 1).sentence, "regressed, change fails to boot: 3 of 3"));
    EXPECT_TRUE(contains(output.sentence, "stops after 2 blocks, out of turn")) << output.sentence;
    input.failed_gates = {"two emulators"};
    EXPECT_EQ(analyse(input).verdict, Verdict::invalid);
}

}  // namespace
}  // namespace kab::stats
