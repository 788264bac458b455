#include "daemon/stats/change_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/stats/made.h"

namespace kab::stats {
namespace {

using Values = std::vector<double>;

std::vector<int> indices(const std::vector<ChangePoint>& points) {
    std::vector<int> result;
    for (const auto& point : points) result.push_back(point.index);
    return result;
}

std::vector<int> found(const Values& series) {
    return indices(change_points(series));
}

Values steps(const std::vector<std::pair<int, double>>& parts) {
    Values series;
    for (const auto& [count, value] : parts) series.insert(series.end(), static_cast<std::size_t>(count), value);
    return series;
}

// The detection tests of MongoDB's signal-processing-algorithms: indices and their order are the reference.
TEST(ChangePoints, RandomNumbersFromThreeIntervals) {
    const Values series{41,  18,  23,  3,   32,  11,  40,  13,  29,  48,  47,  35,  18,  21,  6,
                        2,   23,  3,   4,   7,   120, 103, 102, 81,  71,  62,  115, 61,  108, 63,
                        70,  98,  65,  96,  64,  74,  70,  113, 90,  114, 208, 196, 153, 150, 225,
                        179, 206, 165, 177, 151, 218, 217, 244, 245, 229, 195, 225, 229, 176, 250};
    EXPECT_EQ(found(series), (std::vector<int>{40, 20}));
    for (const auto& point : change_points(series)) EXPECT_LE(point.p, .01);
}

TEST(ChangePoints, TwoRegressionsWithAnOutlierBefore) {
    Values series = steps({{15, 50}, {15, 100}, {15, 150}});
    series[2] = 100;
    auto at = found(series);
    std::sort(at.begin(), at.end());
    EXPECT_EQ(at, (std::vector<int>{15, 30}));
}

TEST(ChangePoints, AStepOfTwentyPoints) {
    EXPECT_EQ(found(steps({{10, 0}, {10, 1}})), std::vector<int>{10});
    // Below six a side no order of the values is rare enough: 2 of 252 give p = .008 at five.
    EXPECT_TRUE(found(steps({{4, 0}, {4, 1}})).empty());
    for (int n = 6; n < 60; ++n) EXPECT_EQ(found(steps({{n, 0}, {n, 1}})), std::vector<int>{n}) << n;
}

TEST(ChangePoints, AValueInBetweenBelongsToTheNearerSide) {
    EXPECT_EQ(found(steps({{14, 50}, {1, 74}, {15, 100}})), std::vector<int>{15});
    EXPECT_EQ(found(steps({{14, 50}, {1, 76}, {15, 100}})), std::vector<int>{14});
}

TEST(ChangePoints, NoneWhereNothingChanges) {
    EXPECT_TRUE(found(steps({{30, 50}})).empty());
    EXPECT_TRUE(found({}).empty());
    EXPECT_TRUE(found({1}).empty());
    EXPECT_TRUE(found({1, 1, 9, 9}).empty());  // no segment of three
    Values series = steps({{10, 0}, {10, 1}});
    series[3] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(found(series).empty());
}

TEST(ChangePoints, NoSegmentIsShorterThanThree) {
    Values series = steps({{20, 0}, {2, 50}});
    for (std::size_t i = 0; i < series.size(); ++i) series[i] += .01 * noise(static_cast<int>(i), 1);
    for (const int index : found(series)) {
        EXPECT_GE(index, 3);
        EXPECT_LE(index, static_cast<int>(series.size()) - 3);
    }
}

TEST(ChangePoints, FalseAlarmsKeepToAlpha) {
    ChangePointOptions options;
    options.permutations = 199;
    options.alpha = .05;
    int alarms = 0;
    constexpr int series_count = 400;
    for (std::uint64_t s = 1; s <= series_count; ++s) {
        Values series;
        for (int i = 0; i < 24; ++i) series.push_back(noise(i, 0, s));
        alarms += change_points(series, options).empty() ? 0 : 1;
    }
    EXPECT_LE(alarms, 400 * .05 + 3 * std::sqrt(400 * .05 * .95));
    EXPECT_GE(alarms, 4);  // a test that never fires shows nothing
}

TEST(ChangePoints, TheSeedDecidesNothingOfAClearCase) {
    const Values series = steps({{12, 0}, {12, 3}});
    ChangePointOptions other;
    other.seed = 77;
    EXPECT_EQ(indices(change_points(series)), indices(change_points(series, other)));
    EXPECT_EQ(change_points(series)[0].q, change_points(series, other)[0].q);
}

}  // namespace
}  // namespace kab::stats
