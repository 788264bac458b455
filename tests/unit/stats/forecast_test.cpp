#include "daemon/stats/forecast.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kab::stats {
namespace {

ForecastInput input(double effect_in_sd, double margin) {
    ForecastInput in;
    in.design.looks = {6, 10, 16, 24, 32};
    in.design.margin = margin;
    in.sd = 0.01;
    in.effect = std::expm1(effect_in_sd * in.sd);
    return in;
}

TEST(Forecast, ALargeEffectStopsEarly) {
    const auto f = forecast(input(2, 0));
    EXPECT_GT(f.difference, .99);
    EXPECT_GT(f.mean_blocks, 8.5);
    EXPECT_LT(f.mean_blocks, 10);
    EXPECT_GT(f.looks[1].decided, .9);
    EXPECT_NEAR(f.looks[4].decided, 1, 1e-9);
}

TEST(Forecast, NoEffectIsFoundAtTheRateOfAlpha) {
    const auto f = forecast(input(0, 0));
    EXPECT_NEAR(f.difference, .05, .02);
    EXPECT_NEAR(f.difference + f.equivalent + f.inconclusive, 1, 1e-9);
    EXPECT_GT(f.mean_blocks, 31);
}

TEST(Forecast, NoEffectWithinAWideMarginIsEquivalent) {
    const auto f = forecast(input(0, .02));
    EXPECT_GT(f.equivalent, .95);
    EXPECT_LT(f.mean_blocks, 12);
}

TEST(Forecast, DetectableEffectIsFoundNineTimesInTen) {
    auto in = input(0, 0);
    in.design.looks = {12};
    in.effect = *forecast(in).detectable;
    EXPECT_NEAR(forecast(in).difference, .9, .03);
    EXPECT_GT(in.effect, .009);
    EXPECT_LT(in.effect, .012);
}

TEST(Forecast, MoreComparisonsNeedMoreBlocks) {
    auto in = input(1, 0);
    const double alone = forecast(in).mean_blocks;
    in.comparisons = 4;
    EXPECT_GT(forecast(in).mean_blocks, alone + 1);
    EXPECT_EQ(forecast(in).mean_blocks, forecast(in).mean_blocks);
}

TEST(Forecast, SpreadOfADifferenceIsThatOfTwoBoots) {
    EXPECT_DOUBLE_EQ(sd_of_difference(.0003, .0005, 5), std::sqrt(2 * .0004));
}

}  // namespace
}  // namespace kab::stats
