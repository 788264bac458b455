#include "daemon/stats/spending.h"

#include <cmath>
#include <vector>

#include "daemon/stats/distributions.h"
#include "daemon/stats/random.h"
#include "tests/unit/stats/near.h"

namespace kab::stats {
namespace {

std::vector<double> equal_steps(int looks) {
    std::vector<double> shares;
    for (int i = 1; i <= looks; ++i) shares.push_back(static_cast<double>(i) / looks);
    return shares;
}

const std::vector<int> default_looks{6, 10, 16, 24, 32};

TEST(Spending, HwangShihDeCaniBoundsOfTheDefaultLooks) {
    const auto result = bounds(Spending::hwang_shih_decani, .025, information_shares(default_looks));
    const std::vector<double> reference{3.279, 3.165, 2.851, 2.442, 2.015};
    ASSERT_EQ(result.size(), reference.size());
    // The last one is 2.01449; the reference has it rounded up.
    for (std::size_t i = 0; i < reference.size(); ++i) EXPECT_NEAR(result[i].z, reference[i], 6e-4) << i;
    expect_relative(result.back().spent, .025);
}

TEST(Spending, OBrienFlemingTypeBounds) {
    const std::vector<std::vector<double>> reference{{4.3326, 2.9631, 2.3590, 2.0141},
                                                     {4.8769, 3.3570, 2.6803, 2.2898, 2.0310}};
    for (const auto& bounds_of : reference) {
        const auto result = bounds(Spending::obrien_fleming, .025, equal_steps(static_cast<int>(bounds_of.size())));
        for (std::size_t i = 0; i < bounds_of.size(); ++i) EXPECT_NEAR(result[i].z, bounds_of[i], 6e-5) << i;
    }
}

TEST(Spending, OneLookIsThePlainTest) {
    const std::vector<double> once{1};
    const auto result = bounds(Spending::hwang_shih_decani, .025, once);
    expect_relative(result[0].z, 1.959963984540054);
    expect_relative(result[0].nominal_p, .025);
    EXPECT_DOUBLE_EQ(RepeatedP(once).two_sided(.03), .03);
}

TEST(Spending, LooksOutOfOrderAreDropped) {
    const std::vector<int> looks{4, 4, 2, 8};
    EXPECT_EQ(information_shares(looks), (std::vector<double>{.5, 1}));
    EXPECT_TRUE(information_shares(std::vector<int>{}).empty());
}

/// The share of random walks that ever cross must be alpha.
TEST(Spending, RandomWalksCrossWithTheProbabilityOfAlpha) {
    const auto shares = information_shares(default_looks);
    const auto design = bounds(Spending::hwang_shih_decani, .2, shares);
    SplitMix random(1);
    int crossed = 0;
    constexpr int walks = 200000;
    for (int walk = 0; walk < walks; ++walk) {
        double score = 0, before = 0;
        for (std::size_t k = 0; k < shares.size(); ++k) {
            score += normal_upper_quantile(random.uniform()) * std::sqrt(shares[k] - before);
            before = shares[k];
            if (score / std::sqrt(shares[k]) > design[k].z) {
                ++crossed;
                break;
            }
        }
    }
    EXPECT_NEAR(static_cast<double>(crossed) / walks, .2, .004);
}

TEST(Spending, ManyLooksStayAccurate) {
    // With a look at every block the last bound must spend exactly what is left.
    const auto fine = bounds(Spending::hwang_shih_decani, .025, equal_steps(64));
    EXPECT_GT(fine.back().z, 1.96);
    EXPECT_LT(fine.back().z, 2.2);
    for (std::size_t i = 1; i < fine.size(); ++i) EXPECT_GT(fine[i].spent, fine[i - 1].spent);
}

TEST(RepeatedP, IsAlphaOnTheBound) {
    for (const std::size_t looks : {2U, 3U, 5U}) {
        auto shares = information_shares(default_looks);
        shares.resize(looks);
        const RepeatedP repeated(shares);
        for (const double alpha : {1e-9, 1e-5, .0025, .0125, .025, .1, .4}) {
            const auto design = bounds(Spending::hwang_shih_decani, alpha, shares);
            expect_relative(repeated.one_sided(design.back().nominal_p), alpha, 2e-6);
        }
    }
}

TEST(RepeatedP, IsNeverBelowTheSingleTestAndMonotone) {
    const RepeatedP repeated(information_shares(default_looks));
    double before = 0;
    for (double p = 1e-14; p < 1; p *= 1.7) {
        const double counted = repeated.two_sided(p);
        EXPECT_GE(counted, p * (1 - 1e-6));
        EXPECT_GE(counted, before);
        EXPECT_LE(counted, 1);
        before = counted;
    }
    EXPECT_EQ(repeated.two_sided(0), 0);
    EXPECT_EQ(repeated.two_sided(1), 1);
}

}  // namespace
}  // namespace kab::stats
