// Published numbers. Where a reference has fewer than ten digits the tolerance is half a unit of its last one.
#include <cmath>
#include <string>
#include <vector>

#include "daemon/stats/anova.h"
#include "daemon/stats/bootstrap.h"
#include "daemon/stats/components.h"
#include "daemon/stats/distributions.h"
#include "daemon/stats/fisher.h"
#include "daemon/stats/hodges_lehmann.h"
#include "daemon/stats/mann_whitney.h"
#include "daemon/stats/multiplicity.h"
#include "daemon/stats/paired.h"
#include "daemon/stats/power.h"
#include "daemon/stats/sums.h"
#include "daemon/stats/welch.h"
#include "tests/unit/stats/near.h"

namespace kab::stats {
namespace {

using Values = std::vector<double>;

// R's data set `sleep`: extra hours of sleep of ten people under two drugs.
const Values sleep_1{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2};
const Values sleep_2{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4};

Values minus(const Values& x, const Values& y) {
    Values d;
    for (std::size_t i = 0; i < x.size(); ++i) d.push_back(x[i] - y[i]);
    return d;
}

TEST(ReferenceNumbers, MannWhitneyOfFiveAndFour) {
    const Values x{19, 22, 16, 29, 24}, y{20, 11, 17, 12};
    const auto exact = mann_whitney(x, y);
    EXPECT_TRUE(exact.exact);
    EXPECT_EQ(exact.u, 17);
    expect_relative(exact.p, .1111111111, 1e-9);
    expect_relative(mann_whitney_asymptotic(x, y).p, .11134688653);
    expect_relative(mann_whitney_asymptotic(x, y, false).p, .0864107330);
}

TEST(ReferenceNumbers, MannWhitneyOfSeparateTens) {
    Values x, y;
    for (int i = 0; i < 10; ++i) {
        x.push_back(i);
        y.push_back(20 + i);
    }
    expect_relative(mann_whitney_asymptotic(x, y).p, .00018267179, 3e-8);
}

// The example of golang.org/x/perf/cmd/benchstat: ns/op before and after.
TEST(ReferenceNumbers, TiedExactMannWhitneyOfBenchstat) {
    const Values gob_old{3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062};
    const Values gob_new{3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062};
    const auto gob = mann_whitney(gob_old, gob_new);
    EXPECT_TRUE(gob.tied);
    EXPECT_TRUE(gob.exact);
    expect_relative(gob.p, .4461018857);
    const Values json_old{1726, 1723, 1707, 1707, 1713, 1729, 1736, 1707, 1705, 1774};
    const Values json_new{1423, 1416, 1411, 1413, 1412, 1426, 1422, 1424, 1447, 1425};
    EXPECT_EQ(median(json_old), 1718);
    EXPECT_EQ(median(json_new), 1422.5);
    EXPECT_NEAR(median(json_new) / median(json_old) - 1, -.1720, .00005);
    EXPECT_LT(mann_whitney(json_old, json_new).p, .0005);
}

TEST(ReferenceNumbers, LeastExactPOfSmallSamples) {
    const auto least = [](int n) {
        Values x, y;
        for (int i = 0; i < n; ++i) {
            x.push_back(i);
            y.push_back(i + 100);
        }
        return mann_whitney(x, y).p;
    };
    expect_relative(least(3), .1);
    expect_relative(least(4), 2.0 / 70);
    expect_relative(least(5), 2.0 / 252);
    EXPECT_NEAR(least(4), .0286, 5e-5);
    EXPECT_NEAR(least(5), .00794, 5e-6);
}

// Hollander and Wolfe (1973), table of the permeability of the human chorioamnion.
TEST(ReferenceNumbers, HodgesLehmannShift) {
    const Values x{.80, .83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, .73, 1.46}, y{1.15, .88, .90, .74, 1.21};
    const auto test = mann_whitney(x, y);
    EXPECT_EQ(test.u, 35);
    expect_relative(test.p, .254412254412);
    const auto shift = hodges_lehmann_shift(x, y);
    expect_relative(shift.estimate, .305);
    expect_relative(shift.low, -.15);
    expect_relative(shift.high, .76);
    EXPECT_GE(shift.level, .95);
}

TEST(ReferenceNumbers, SleepWelchAndPaired) {
    const auto independent = welch(sleep_1, sleep_2);
    expect_relative(independent.t, -1.86081346749);
    expect_relative(independent.df, 17.7764735162);
    expect_relative(independent.p, .0793941401874);
    const auto paired = paired_t(minus(sleep_1, sleep_2));
    EXPECT_EQ(paired.df, 9);
    expect_relative(paired.t, -4.06212768338);
    expect_relative(paired.p, .00283289019738);
}

TEST(ReferenceNumbers, WelchOfThrees) {
    const auto test = welch(Values{1, 2, 3}, Values{1.1, 2.9, 4.2});
    expect_relative(test.t, -.686495127);
    expect_relative(test.p, .536194908);
}

TEST(ReferenceNumbers, BenjaminiHochberg) {
    const Values p{.005, .009, .019, .022, .051, .101, .361, .387};
    const Values reference{.036, .036, .044, .044, .082, .135, .387, .387};
    const auto adjusted = benjamini_hochberg(p);
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(adjusted[i], reference[i], .0005) << i;
}

// The 16 values of Efron's tutorial; the reference is itself a random draw, so half a unit is all one can ask.
TEST(ReferenceNumbers, BootstrapOfTheMean) {
    const Values x{10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213};
    const auto intervals = bootstrap_mean(x, 200000, 1);
    EXPECT_NEAR(intervals.percentile.low, 28.86, .6);
    EXPECT_NEAR(intervals.percentile.high, 84.21, .6);
    EXPECT_NEAR(intervals.bca.low, 32.31, .6);
    EXPECT_NEAR(intervals.bca.high, 91.43, .9);
    const auto again = bootstrap_mean(x, 200000, 1);
    EXPECT_EQ(intervals.bca.low, again.bca.low);
}

// Davies and Goldsmith, Statistical Methods in Research and Production (1972): yield of dyestuff.
TEST(ReferenceNumbers, DyestuffVariances) {
    const std::vector<Values> batches{{1545, 1440, 1440, 1520, 1580}, {1540, 1555, 1490, 1560, 1495},
                                      {1595, 1550, 1605, 1510, 1560}, {1445, 1440, 1595, 1465, 1545},
                                      {1595, 1630, 1515, 1635, 1625}, {1520, 1455, 1450, 1480, 1445}};
    const auto result = one_way(batches);
    expect_relative(result.between, 1764.05);
    expect_relative(result.within, 2451.25);
    EXPECT_NEAR(result.f, 4.59827, 5e-6);
}

// Pinheiro and Bates, Mixed-Effects Models in S and S-PLUS (2000): effort to rise from four stools.
TEST(ReferenceNumbers, ErgoStoolEffects) {
    const Values effort{12, 15, 12, 10, 10, 14, 13, 12, 7,  14, 13, 9,  7, 11, 10, 9,  8,  11,
                        8,  7,  9,  11, 11, 10, 8,  12, 12, 11, 7,  11, 8, 7,  9,  13, 10, 8};
    const auto design = block_design(effort, 4);
    ASSERT_TRUE(design.valid);
    EXPECT_EQ(design.blocks, 9);
    EXPECT_EQ(design.df_residual, 24);
    expect_relative(design.arm_means[1] - design.arm_means[0], 35.0 / 9);
    EXPECT_NEAR(design.arm_means[1] - design.arm_means[0], 3.888889, 5e-7);
    EXPECT_NEAR(design.arm_means[2] - design.arm_means[0], 2.222222, 5e-7);
    EXPECT_NEAR(design.arm_means[3] - design.arm_means[0], .666667, 5e-7);
    // The published figure comes from an iterative fit and is off by 2e-9; by hand it is sqrt(523 / 1944).
    expect_relative(design.standard_error, .518683834951, 3e-9);
    expect_relative(design.standard_error, std::sqrt(523.0 / 1944), 1e-12);
}

// NIST Statistical Reference Datasets, SiRstv (resistivity of silicon wafers).
TEST(ReferenceNumbers, NistSiRstv) {
    const std::vector<Values> instruments{{196.3052, 196.1240, 196.1890, 196.2569, 196.3403},
                                          {196.3042, 196.3825, 196.1669, 196.3257, 196.0422},
                                          {196.1303, 196.2005, 196.2889, 196.0343, 196.1811},
                                          {196.2795, 196.1748, 196.1494, 196.1485, 195.9885},
                                          {196.2119, 196.1051, 196.1850, 196.0052, 196.2090}};
    expect_relative(one_way(instruments).f, 1.18046237440255);
}

TEST(ReferenceNumbers, BlocksForNinetyPercentPower) {
    const Values effects{.5, .75, 1, 1.5, 2};
    const std::vector<int> blocks{44, 21, 13, 7, 5};
    for (std::size_t i = 0; i < effects.size(); ++i) {
        EXPECT_EQ(blocks_for_difference(effects[i], .025), blocks[i]) << effects[i];
        EXPECT_LT(paired_power(blocks[i] - 1, effects[i], .025), .9);
        const auto least = detectable_effect(blocks[i], .025);
        ASSERT_TRUE(least.has_value());
        EXPECT_LE(*least, effects[i]);
        expect_relative(paired_power(blocks[i], *least, .025), .9, 1e-7);
    }
}

// Fisher's lady tasting tea, and a case with unequal sides (R: fisher.test).
TEST(ReferenceNumbers, FisherExact) {
    expect_relative(fisher_exact(3, 4, 1, 4), .4857142857142857);
    expect_relative(fisher_exact(0, 32, 5, 32), 2 * 201376.0 / 7624512.0);  // 2 C(32,5) / C(64,5)
    EXPECT_EQ(fisher_exact(0, 10, 0, 10), 1);
    EXPECT_EQ(fisher_exact(0, 0, 3, 10), 1);
    expect_relative(fisher_exact(10, 10, 0, 10), 2.0 / 184756);
}

TEST(ReferenceNumbers, VarianceComponentsOfTheWorkedExample) {
    std::vector<Values> values;
    const std::vector<int> iterations{0, 1, 2, 3, 4};
    for (int i = 0; i < 8; ++i)
        for (int a = 0; a < 2; ++a) {
            values.emplace_back();
            for (int j = 0; j < 5; ++j)
                values.back().push_back(std::log(100 + .3 * ((37 * i) % 11) + 2 * a + .5 * ((7 * i + 5 * a) % 4) +
                                                 .2 * ((3 * j + i + a) % 5)));
        }
    std::vector<BootValues> boots;
    for (int i = 0; i < 8; ++i)
        for (int a = 0; a < 2; ++a) boots.push_back({i, a, values[static_cast<std::size_t>(2 * i + a)], iterations});
    const auto plain = variance_components(boots, IndexMeans::keep);
    EXPECT_NEAR(plain.boot.value(), 3.85390e-5, 5e-11);
    EXPECT_NEAR(plain.block.value(), 1.02223e-4, 5e-10);
    EXPECT_NEAR(plain.iteration.value(), 9.34810e-6, 5e-12);
    // With index means removed: 4 degrees of freedom fewer (computed by hand in double precision).
    const auto removed = variance_components(boots);
    expect_relative(removed.iteration.value(), 9.778182643786297e-06);
    expect_relative(removed.boot.value(), 3.8452939567411826e-05);
    expect_relative(removed.block.value(), plain.block.value());
}

TEST(ReferenceNumbers, StudentAndNormalTails) {
    expect_relative(t_two_sided(2.2281388519649385, 10), .05);
    expect_relative(t_upper_quantile(.025, 5), 2.570581835636314);
    expect_relative(normal_upper_quantile(.025), 1.959963984540054);
    expect_relative(normal_upper(10), 7.619853024160527e-24);
}

}  // namespace
}  // namespace kab::stats
