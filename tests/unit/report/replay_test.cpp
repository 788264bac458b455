#include "daemon/report/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "daemon/report/gather.h"
#include "tests/support/database/sample_database.h"

namespace kab::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Stores what the analysis finds now, as the coordinator does at the look.
std::vector<store::ComparisonRow> take_look(const test::SampleDatabase& sample) {
    const auto uid = test::sample_evaluation();
    const auto input = gather_analysis(*sample.store, uid, 0);
    EXPECT_TRUE(input);
    const auto output = stats::analyse(*input);
    auto rows = to_comparison_rows(*input, output, 0);
    const auto done = sample.store->write([&](store::Writer& writer) -> Status {
        if (auto added = writer.add_comparisons(uid, 0, rows); !added) return added;
        return writer.set_verdict(uid, stats::to_string(output.verdict));
    });
    EXPECT_TRUE(done) << done.error().text();
    return rows;
}

TEST(Replay, TheStoredSamplesGiveTheStoredVerdictBitForBit) {
    test::SampleOptions options;
    options.swept = true;
    const test::SampleDatabase sample(options);
    const auto rows = take_look(sample);
    const auto result = replay(*sample.store, test::sample_evaluation());
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(result->look, 0);
    EXPECT_EQ(result->compared, static_cast<int>(rows.size()));
    EXPECT_EQ(result->stored, result->computed);
    EXPECT_THAT(result->differences, IsEmpty());
}

TEST(Replay, ALastDigitIsSeen) {
    const test::SampleDatabase sample;
    auto rows = take_look(sample);
    rows[0].high = std::nextafter(*rows[0].high, 10.0);
    rows[1].p_rank.reset();
    rows[2].verdict = "equivalent";
    ASSERT_TRUE(sample.store->write([&](store::Writer& writer) -> Status {
        if (auto added = writer.add_comparisons(test::sample_evaluation(), 0, rows); !added) return added;
        return writer.set_verdict(test::sample_evaluation(), "equivalent");
    }));
    const auto result = replay(*sample.store, test::sample_evaluation());
    ASSERT_TRUE(result);
    ASSERT_EQ(result->differences.size(), 4U);
    EXPECT_THAT(result->differences[0], HasSubstr("the verdict is stored as equivalent, computed as "));
    EXPECT_THAT(result->differences[1], HasSubstr("ipcns-exit/elapsed: high is stored as "));
    EXPECT_THAT(result->differences[2], HasSubstr("p_rank is stored as nothing, computed as "));
    EXPECT_THAT(result->differences[3], HasSubstr("verdict is stored as \"equivalent\""));
}

TEST(Replay, OtherWordsForTheSameFiguresAreNoDifference) {
    const test::SampleDatabase sample;
    auto rows = take_look(sample);
    rows[0].sentence = "about 3 more blocks would likely settle it";  // as an earlier kab put it
    ASSERT_TRUE(sample.store->write(
        [&](store::Writer& writer) { return writer.add_comparisons(test::sample_evaluation(), 0, rows); }));
    auto result = replay(*sample.store, test::sample_evaluation());
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_THAT(result->differences, IsEmpty());
    EXPECT_EQ(result->reworded, 1);
    rows[0].n += 1;  // a figure is no word
    ASSERT_TRUE(sample.store->write(
        [&](store::Writer& writer) { return writer.add_comparisons(test::sample_evaluation(), 0, rows); }));
    result = replay(*sample.store, test::sample_evaluation());
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_THAT(result->differences, ElementsAre(HasSubstr(": n is stored as ")));
}

TEST(Replay, AMarginOfZeroThatWasStoredAsNoneIsTheSame) {
    store::ComparisonRow stored, computed;
    computed.margin = 0;
    EXPECT_THAT(row_differences({stored}, {computed}), IsEmpty());
    EXPECT_THAT(row_differences({computed}, {stored}),
                ElementsAre(HasSubstr("margin is stored as 0, computed as nothing")));
    computed.margin = .02;
    EXPECT_THAT(row_differences({stored}, {computed}),
                ElementsAre(HasSubstr("margin is stored as nothing, computed as 0.02")));
}

TEST(Replay, RowsThatOnlyOneSideHasAreNamed) {
    store::ComparisonRow one, other;
    one.arm = "b";
    one.against = "a";
    one.workload = "w";
    one.metric = "elapsed";
    other = one;
    other.point = "tasks=4";
    EXPECT_THAT(row_differences({one}, {other}),
                ElementsAre("b against a, w/elapsed: is stored, but not computed",
                            "b against a, w/elapsed (tasks=4): is computed, but not stored"));
}

TEST(Replay, WithoutALookThereIsNothingToCompare) {
    test::SampleOptions options;
    options.blocks = 2;
    options.status = "running";
    const test::SampleDatabase sample(options);
    const auto result = replay(*sample.store, test::sample_evaluation());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().fault, Fault::conflict);
    EXPECT_THAT(result.error().text(), HasSubstr("no look has been taken"));
    EXPECT_FALSE(replay(*sample.store, "01KDXF9999"));
}

}  // namespace
}  // namespace kab::report
