#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <vector>

#include "daemon/stats/hodges_lehmann.h"
#include "daemon/stats/mann_whitney.h"
#include "daemon/stats/midranks.h"
#include "daemon/stats/random.h"
#include "daemon/stats/rank_distributions.h"
#include "daemon/stats/signed_rank.h"
#include "daemon/stats/sums.h"
#include "tests/unit/stats/near.h"

namespace kab::stats {
namespace {

using Values = std::vector<double>;

/// Two-sided exact p by listing all ways to pick the sample of x.
double listed_rank_sum_p(const Values& x, const Values& y) {
    Values all(x);
    all.insert(all.end(), y.begin(), y.end());
    const auto ranks = midranks(all);
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < x.size(); ++i) seen += ranks.twice[i];
    double lower = 0, upper = 0, count = 0;
    for (unsigned set = 0; set < (1U << all.size()); ++set) {
        if (static_cast<std::size_t>(std::popcount(set)) != x.size()) continue;
        std::int64_t total = 0;
        for (std::size_t i = 0; i < all.size(); ++i)
            if ((set >> i & 1U) != 0) total += ranks.twice[i];
        lower += total <= seen ? 1 : 0;
        upper += total >= seen ? 1 : 0;
        count += 1;
    }
    return std::min(1.0, 2 * std::min(lower, upper) / count);
}

double listed_signed_rank_p(const Values& d) {
    Values sizes;
    std::vector<bool> positive;
    for (const double v : d)
        if (v != 0) {
            sizes.push_back(std::abs(v));
            positive.push_back(v > 0);
        }
    const auto ranks = midranks(sizes);
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (positive[i]) seen += ranks.twice[i];
    double lower = 0, upper = 0;
    const unsigned all = 1U << sizes.size();
    for (unsigned set = 0; set < all; ++set) {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i)
            if ((set >> i & 1U) != 0) total += ranks.twice[i];
        lower += total <= seen ? 1 : 0;
        upper += total >= seen ? 1 : 0;
    }
    return std::min(1.0, 2 * std::min(lower, upper) / all);
}

TEST(Midranks, ShareTheMeanRank) {
    const auto ranks = midranks(Values{3, 1, 3, 2, 3});
    EXPECT_EQ(ranks.twice, (std::vector<std::int64_t>{8, 2, 8, 4, 8}));
    EXPECT_TRUE(ranks.tied);
    EXPECT_EQ(ranks.tie_term(), 24);
}

TEST(MannWhitney, EqualsTheListOfAllChoicesWithAndWithoutTies) {
    SplitMix random(7);
    for (int trial = 0; trial < 200; ++trial) {
        const std::size_t m = 1 + random.below(7), n = 1 + random.below(7);
        const std::uint64_t range = trial % 2 == 0 ? 4 : 1000;
        Values x, y;
        for (std::size_t i = 0; i < m; ++i) x.push_back(static_cast<double>(random.below(range)));
        for (std::size_t i = 0; i < n; ++i) y.push_back(static_cast<double>(random.below(range)));
        const auto result = mann_whitney(x, y);
        EXPECT_TRUE(result.exact);
        expect_relative(result.p, listed_rank_sum_p(x, y), 1e-12);
        expect_relative(mann_whitney(y, x).p, result.p, 1e-12);
    }
}

TEST(MannWhitney, TheLeastPIsThatOfAllOfOneBeyondTheOther) {
    for (const auto& [m, n] :
         {std::pair(3, 3), std::pair(2, 7), std::pair(50, 50), std::pair(51, 2), std::pair(60, 60)}) {
        std::vector<double> x, y;
        for (int i = 0; i < m; ++i) x.push_back(i);
        for (int i = 0; i < n; ++i) y.push_back(1000 + i);
        const auto apart = mann_whitney(x, y);
        expect_relative(least_mann_whitney_p(x.size(), y.size()), apart.p, 1e-9);
        EXPECT_NEAR(apart.lower, apart.p / 2, 1e-12);
        EXPECT_GE(apart.upper, 1 - apart.p);
        expect_relative(mann_whitney(y, x).upper, apart.lower, 1e-9);
    }
    EXPECT_EQ(least_mann_whitney_p(0, 4), 1);
}

TEST(MannWhitney, TheTwoExactRoutesAgreeAtFiftyASide) {
    const auto cumulative = rank_sum_cumulative(50, 50);
    std::vector<std::int64_t> twice(100);
    for (std::size_t i = 0; i < 100; ++i) twice[i] = 2 * static_cast<std::int64_t>(i + 1);
    for (const int u : {0, 1, 50, 700, 1000, 1249, 1250, 1500}) {
        const auto tails = tied_rank_sum_tails(twice, 50, 2 * (u + 50 * 51 / 2));
        expect_relative(cumulative[static_cast<std::size_t>(u)], tails.lower, 1e-9);
    }
}

TEST(MannWhitney, BeyondFiftyASideIsAsymptoticAndSaysSo) {
    Values x(51), y(51);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<double>(2 * i);
        y[i] = static_cast<double>(2 * i + 1);
    }
    EXPECT_FALSE(mann_whitney(x, y).exact);
    x.pop_back();
    y.pop_back();
    EXPECT_TRUE(mann_whitney(x, y).exact);
}

TEST(MannWhitney, AllValuesEqualIsNoEvidence) {
    EXPECT_EQ(mann_whitney(Values{5, 5, 5}, Values{5, 5, 5, 5}).p, 1);
    EXPECT_EQ(mann_whitney_asymptotic(Values{5, 5}, Values{5, 5}).p, 1);
    EXPECT_EQ(mann_whitney(Values{}, Values{1}).p, 1);
}

TEST(SignedRank, EqualsTheListOfAllSignsWithTiesAndZeros) {
    SplitMix random(11);
    for (int trial = 0; trial < 200; ++trial) {
        const std::size_t n = 1 + random.below(11);
        const std::uint64_t range = trial % 2 == 0 ? 9 : 100000;
        Values d;
        for (std::size_t i = 0; i < n; ++i)
            d.push_back(static_cast<double>(random.below(range)) - static_cast<double>(range / 3));
        expect_relative(signed_rank(d).p, listed_signed_rank_p(d), 1e-12);
    }
}

// The negative ones hold ranks 1 and 2: five of the 256 sign patterns have a sum of 3 or less.
TEST(SignedRank, KnownValue) {
    const auto result = signed_rank(Values{1.1, 2.2, -.3, 4.1, 5.2, -.9, 7.7, 8.4});
    EXPECT_EQ(result.w, 33);
    expect_relative(result.p, .0390625);
}

TEST(SignedRank, LeastPIsThatOfOneSidedData) {
    const auto result = signed_rank(Values{1, 2, 3, 4, 5, 6});
    EXPECT_EQ(result.p, least_signed_rank_p(6));
    EXPECT_EQ(least_signed_rank_p(6), 1.0 / 32);
    EXPECT_EQ(signed_rank(Values{0, 0, 0}).p, 1);
    EXPECT_EQ(signed_rank(Values{}).p, 1);
}

TEST(SignedRank, LargeSamplesAreAsymptoticAndNearTheExactOne) {
    SplitMix random(3);
    Values d;
    for (int i = 0; i < 200; ++i) d.push_back(random.uniform() - .47);
    const auto exact = signed_rank(d);
    ASSERT_TRUE(exact.exact);
    d.push_back(random.uniform() - .47);
    const auto asymptotic = signed_rank(d);
    EXPECT_FALSE(asymptotic.exact);
    EXPECT_NEAR(asymptotic.p, exact.p, .05);
}

TEST(HodgesLehmann, EqualsTheSortedWalshAverages) {
    SplitMix random(5);
    for (int trial = 0; trial < 50; ++trial) {
        Values d;
        const std::size_t n = 2 + random.below(30);
        for (std::size_t i = 0; i < n; ++i) d.push_back(std::floor(random.uniform() * 40) / 8 - 2);
        Values walsh;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = i; j < n; ++j) walsh.push_back(d[i] / 2 + d[j] / 2);
        std::sort(walsh.begin(), walsh.end());
        const auto result = hodges_lehmann(d, .95);
        EXPECT_DOUBLE_EQ(result.estimate, median(walsh));
        EXPECT_TRUE(std::binary_search(walsh.begin(), walsh.end(), result.low));
        EXPECT_TRUE(std::binary_search(walsh.begin(), walsh.end(), result.high));
        EXPECT_LE(result.low, result.estimate);
        EXPECT_GE(result.high, result.estimate);
        EXPECT_GE(result.level, n >= 6 ? .95 : 1 - std::ldexp(2.0, -static_cast<int>(n)));
    }
}

TEST(HodgesLehmann, SaysWhatLevelItReallyReaches) {
    const Values d{1, 2, 3, 4, 5};
    const auto result = hodges_lehmann(d, .999);
    EXPECT_EQ(result.low, 1);
    EXPECT_EQ(result.high, 5);
    expect_relative(result.level, 1 - 2.0 / 32);
}

TEST(HodgesLehmann, ShiftOfLargeSamplesNeedsNoListOfAllPairs) {
    Values x, y;
    SplitMix random(9);
    for (int i = 0; i < 20000; ++i) {
        x.push_back(random.uniform() + .25);
        y.push_back(random.uniform());
    }
    const auto result = hodges_lehmann_shift(x, y);
    EXPECT_NEAR(result.estimate, .25, .02);
    EXPECT_LT(result.low, .25);
    EXPECT_GT(result.high, .24);
}

}  // namespace
}  // namespace kab::stats
