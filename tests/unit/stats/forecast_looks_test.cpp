#include <gtest/gtest.h>

#include <cmath>

#include "daemon/stats/forecast.h"

namespace kab::stats {
namespace {

ForecastInput input(double effect) {
    ForecastInput in;
    in.design.looks = {6, 10, 16};
    in.sd = 0.01;
    in.effect = effect;
    return in;
}

TEST(ForecastLooks, SumUpToTheShares) {
    const auto f = forecast(input(0.01));
    for (std::size_t k = 1; k < f.looks.size(); ++k) {
        EXPECT_GE(f.looks[k].higher, f.looks[k - 1].higher);
        EXPECT_GE(f.looks[k].equivalent, f.looks[k - 1].equivalent);
        EXPECT_NEAR(f.looks[k - 1].higher + f.looks[k - 1].lower + f.looks[k - 1].equivalent, f.looks[k - 1].decided,
                    1e-9);
    }
    EXPECT_NEAR(f.looks.back().higher + f.looks.back().lower, f.difference, 1e-9);
    EXPECT_NEAR(f.looks.back().equivalent, f.equivalent, 1e-9);
}

TEST(ForecastLooks, TellTheDirection) {
    EXPECT_GT(forecast(input(0.04)).looks.back().higher, .99);
    EXPECT_EQ(forecast(input(0.04)).looks.back().lower, 0);
    EXPECT_GT(forecast(input(-0.04)).looks.back().lower, .99);
    EXPECT_EQ(forecast(input(-0.04)).looks.back().higher, 0);
}

/// A margin as a share of each baseline, whatever the scale.
TEST(RelativeMargin, IsAShareOfTheBaselinesMeanForLinearMetrics) {
    Input in;
    in.design.relative_margin = true;
    in.design.margin = 0.1;
    in.arms = {{"a"}, {"b", 0}};
    in.series = {{"", "", "small", "", Better::lower, Scale::linear, true},
                 {"", "", "large", "", Better::lower, Scale::linear, true},
                 {"", "", "ratio", "", Better::lower, Scale::log, false}};
    for (int block = 1; block <= 4; ++block)
        for (int arm = 0; arm < 2; ++arm)
            for (int s = 0; s < 3; ++s)
                in.observations.push_back({block, arm, s, 0, (s == 1 ? 500.0 : 5.0) + block % 2});
    const auto output = analyse(in);
    ASSERT_EQ(output.comparisons.size(), 3U);
    EXPECT_DOUBLE_EQ(output.comparisons[0].margin.value(), 0.55);
    EXPECT_DOUBLE_EQ(output.comparisons[1].margin.value(), 50.05);
    EXPECT_DOUBLE_EQ(output.comparisons[2].margin.value(), 0.1);
}

}  // namespace
}  // namespace kab::stats
