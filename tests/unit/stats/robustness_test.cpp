// Whatever comes in: no crash, no interval without its n, no NaN or infinity out.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "daemon/stats/analysis.h"
#include "tests/unit/stats/made.h"

namespace kab::stats {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

void expect_clean(const std::string& text) {
    for (const char* word : {"nan", "inf ", "inf%", "inf,", "inf)"})
        EXPECT_EQ(text.find(word), std::string::npos) << text;
}

void expect_clean(const std::optional<double>& value, const char* what, bool share) {
    if (!value) return;
    EXPECT_TRUE(std::isfinite(*value)) << what;
    EXPECT_TRUE(!share || (*value >= 0 && *value <= 1)) << what << " " << *value;
}

void expect_clean(const std::optional<Estimate>& e, int n) {
    if (!e) return;
    EXPECT_GE(n, 2);
    EXPECT_TRUE(std::isfinite(e->value) && std::isfinite(e->low) && std::isfinite(e->high));
    EXPECT_LE(e->low, e->high);
    EXPECT_GE(e->level, 0);
    EXPECT_LE(e->level, 1);
}

void expect_clean(const Output& output, bool exact = false) {
    for (const auto& c : output.comparisons) {
        expect_clean(c.estimate, c.n);
        expect_clean(c.rank_estimate, c.n);
        expect_clean(c.p, "p", true);
        expect_clean(c.p_sequential, "p_sequential", true);
        expect_clean(c.p_adjusted, "p_adjusted", true);
        expect_clean(c.p_rank, "p_rank", true);
        expect_clean(c.p_equivalence, "p_equivalence", true);
        expect_clean(c.detectable, "detectable", false);
        EXPECT_TRUE(std::isfinite(c.sd) && std::isfinite(c.t) && std::isfinite(c.df) &&
                    std::isfinite(c.margin.value_or(0)));
        EXPECT_TRUE(c.spent >= 0 && c.spent <= 1);
        EXPECT_TRUE(!c.material || c.margin > 0.0 || (exact && c.margin));
        EXPECT_TRUE(!c.same_code || (c.verdict != Verdict::improved && c.verdict != Verdict::regressed));
        EXPECT_TRUE(!output.decided || c.verdict != Verdict::pending);
        EXPECT_FALSE(c.sentence.empty());
        expect_clean(c.reason);
        expect_clean(c.sentence);
        EXPECT_TRUE(c.estimate || c.failing || c.verdict == Verdict::pending || c.verdict == Verdict::inconclusive ||
                    c.verdict == Verdict::none || c.verdict == Verdict::invalid);
    }
    for (const auto& s : output.summaries)
        EXPECT_TRUE(std::isfinite(s.mean) && std::isfinite(s.relative_sd.value_or(0)) && std::isfinite(s.min) &&
                    std::isfinite(s.max));
    for (const auto& c : output.components)
        for (const auto& part : {c.block, c.boot, c.iteration, c.trend}) EXPECT_TRUE(std::isfinite(part.value_or(0)));
    for (const auto& f : output.failures) expect_clean(f.p, "failures", true);
    for (const auto& w : output.warnings) expect_clean(w);
    expect_clean(output.sentence);
    EXPECT_FALSE(output.sentence.empty());
}

double odd_value(SplitMix& random) {
    switch (random.below(24)) {
        case 0: return not_a_number;
        case 1: return infinity;
        case 2: return -infinity;
        case 3: return 0;
        case 4: return -1 * random.uniform();
        case 5: return 1e308 * random.uniform();
        case 6: return -1e308;
        case 7: return 5e-324;
        case 8: return -0.0;
        default: return std::exp(3 * normal(random));
    }
}

Input random_input(std::uint64_t seed) {
    SplitMix random(seed);
    Input input;
    const auto arms = random.below(5), series = random.below(6), blocks = random.below(14);
    const bool odd = random.below(2) == 0, constant = random.below(4) == 0;
    for (std::uint64_t a = 0; a < arms; ++a)
        input.arms.push_back({"arm" + std::to_string(a), static_cast<int>(random.below(arms + 2)) - 1,
                              random.below(4) == 0, static_cast<int>(random.below(10)),
                              static_cast<int>(random.below(10))});
    for (std::uint64_t s = 0; s < series; ++s)
        input.series.push_back({"w", "p=" + std::to_string(s), random.below(2) == 0 ? "m" : "k", "ns",
                                static_cast<Better>(random.below(3)), static_cast<Scale>(random.below(2)),
                                random.below(2) == 0});
    for (std::uint64_t b = 0; b < blocks; ++b)
        for (std::uint64_t a = 0; a < arms; ++a)
            for (std::uint64_t s = 0; s < series; ++s)
                for (std::uint64_t i = 0; i < random.below(4); ++i) {
                    if (random.below(6) == 0) continue;
                    const double value = constant ? 42 : odd ? odd_value(random) : std::exp(normal(random));
                    input.observations.push_back({static_cast<int>(b), static_cast<int>(a), static_cast<int>(s),
                                                  static_cast<int>(random.below(3)), value});
                }
    if (random.below(10) == 0) input.observations.push_back({1, 99, 0, 0, 1});
    if (random.below(10) == 0) input.observations.push_back({1, 0, -7, 0, 1});
    const std::vector<std::vector<int>> looks{{6, 10, 16, 24, 32}, {8}, {}, {3, 3, 2, -1}, {1, 2, 3, 4}};
    input.design.looks = looks[random.below(looks.size())];
    input.look = static_cast<int>(random.below(8)) - 2;
    input.design.margin = random.below(5) == 0 ? not_a_number : .05 * random.uniform();
    input.design.alpha = random.below(5) == 0 ? -3 : .2 * random.uniform();
    input.design.fixed = random.below(3) == 0;
    input.design.paired = random.below(4) != 0;
    input.design.exact = random.below(5) == 0;
    for (auto& arm : input.arms) {
        arm.stopped = random.below(6) == 0;
        arm.keeps_failing = arm.stopped && random.below(2) == 0;
        arm.same_code = random.below(6) == 0;
    }
    for (auto& one : input.series)
        if (random.below(6) == 0) one.quantile = 1.2 * random.uniform();
    if (random.below(3) == 0) input.excluded_blocks = {0, 5, 77};
    return input;
}

TEST(Robustness, RandomShapesNeverBreakIt) {
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        const Input input = random_input(seed);
        const auto output = analyse(input, 1e9 * static_cast<double>(seed % 3), 1e8);
        expect_clean(output, input.design.exact);
        if (HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST(Robustness, NothingIsNoVerdict) {
    const auto output = analyse(Input{});
    EXPECT_TRUE(output.comparisons.empty());
    expect_clean(output);
    EXPECT_NE(output.verdict, Verdict::improved);
}

TEST(Robustness, ZeroAndOneBlockSayWhyThereIsNoEstimate) {
    for (const int blocks : {0, 1}) {
        Input input = two_arms(true);
        input.look = 0;
        fill(input, 0, blocks, 3, [](int, int, int) { return 5.0; });
        const auto output = analyse(input);
        EXPECT_FALSE(primary_of(output, 1).estimate.has_value());
        EXPECT_NE(primary_of(output, 1).reason.find("at least 2 are needed"), std::string::npos);
        EXPECT_EQ(output.verdict, Verdict::pending);
        expect_clean(output);
    }
}

TEST(Robustness, ZerosUnderALogScaleAreRefusedWithAReason) {
    Input input = two_arms();
    input.look = 4;
    fill(input, 0, 32, 1, [](int b, int a, int) { return b == 3 && a == 1 ? 0.0 : 5 + noise(b, a); });
    const auto output = analyse(input);
    EXPECT_FALSE(primary_of(output, 1).estimate.has_value());
    EXPECT_NE(primary_of(output, 1).reason.find("a ratio needs positive values"), std::string::npos);
    input.series[0].scale = Scale::linear;
    EXPECT_TRUE(primary_of(analyse(input), 1).estimate.has_value());
}

TEST(Robustness, NotANumberIsMissingAndTold) {
    Input input = two_arms();
    input.look = 0;
    fill(input, 0, 6, 2, [](int b, int a, int) { return b == 2 && a == 0 ? not_a_number : 100 + noise(b, a); });
    const auto output = analyse(input);
    EXPECT_EQ(primary_of(output, 1).n, 5);
    EXPECT_TRUE(mentions(output.warnings, "1 boot with values that are no numbers"));
}

TEST(Robustness, AMillionSamplesOfTwoColumns) {
    Input input = two_arms();
    input.design.paired = false;
    input.design.looks = {};
    SplitMix random(1);
    for (int i = 0; i < 500000; ++i)
        for (int a = 0; a < 2; ++a) input.observations.push_back({i, a, 0, 0, 100 + random.uniform() + .1 * a});
    const auto output = analyse(input);
    expect_clean(output);
    EXPECT_EQ(primary_of(output, 1).n, 500000);
    EXPECT_EQ(primary_of(output, 1).verdict, Verdict::equivalent);
}

}  // namespace
}  // namespace kab::stats
