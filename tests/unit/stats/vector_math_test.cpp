// Logarithms and exponentials of arrays against the C library's in long double.
#include "daemon/stats/vector_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "daemon/stats/random.h"

namespace kab::stats {
namespace {

/// In units of the last place of the true value.
double off_by(double value, long double truth) {
    const auto rounded = static_cast<double>(truth);
    const double unit = std::nextafter(std::abs(rounded), std::numeric_limits<double>::infinity()) - std::abs(rounded);
    return static_cast<double>(std::abs(truth - static_cast<long double>(value)) / static_cast<long double>(unit));
}

std::vector<double> drawn(std::size_t n, double low, double high) {
    SplitMix random(n);
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(low + (high - low) * random.uniform());
    return values;
}

void expect_logs(const std::vector<double>& values) {
    std::vector<double> logs(values.size());
    log_all(values, logs);
    for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_LT(off_by(logs[i], std::log(static_cast<long double>(values[i]))), 1) << values[i];
}

TEST(VectorMath, LogarithmsAreRightToTheLastPlace) {
    expect_logs(drawn(100'000, 0.5, 2));
    expect_logs(drawn(100'000, 1 - 1e-6, 1 + 1e-6));
    expect_logs(drawn(100'000, 1, 1e9));
    auto wide = drawn(100'000, -700, 700);
    for (auto& value : wide) value = std::exp(value);
    expect_logs(wide);
    expect_logs({std::numeric_limits<double>::min(), std::numeric_limits<double>::max(), 2, 0.5,
                 std::nextafter(1.0, 0.0), std::nextafter(1.0, 2.0)});
}

TEST(VectorMath, TheLogarithmOfOneIsZero) {
    std::vector<double> one{1};
    log_all(one, one);
    EXPECT_EQ(one[0], 0);
}

TEST(VectorMath, ExponentialsAreRightToTheLastPlaces) {
    for (const auto& values : {drawn(100'000, -700, 0), drawn(100'000, -1, 1), drawn(10'000, 0, 700)}) {
        auto results = values;
        exp_all(results);
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_LT(off_by(results[i], std::exp(static_cast<long double>(values[i]))), 2) << values[i];
    }
}

TEST(VectorMath, FarBelowNothingUnderflows) {
    std::vector<double> values{-700, -1e4, -1e300, -std::numeric_limits<double>::infinity()};
    exp_all(values);
    for (const double value : values) EXPECT_EQ(value, values[0]);
    EXPECT_GT(values[0], 0);
    EXPECT_LT(values[0], 1e-303);
}

/// FNV-1a over the bits of the results.
std::uint64_t fingerprint(const std::vector<double>& values) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const double value : values) {
        auto bits = std::bit_cast<std::uint64_t>(value);
        for (int i = 0; i < 8; ++i, bits >>= 8) hash = (hash ^ (bits & 0xff)) * 0x100000001b3;
    }
    return hash;
}

/// To the last bit: a product and a sum that a compiler contracts into one operation would give another hash, and on
/// another machine another verdict.
TEST(VectorMath, TheResultsAreTheSameOnEveryMachine) {
    SplitMix random(7);
    std::vector<double> values, logs(10'000);
    for (int i = 0; i < 10'000; ++i) values.push_back(std::ldexp(1 + random.uniform(), i % 40 - 20));
    log_all(values, logs);
    EXPECT_EQ(fingerprint(logs), 0xf49b1ce30ad9eec9);
    values.clear();
    for (int i = 0; i < 10'000; ++i) values.push_back(std::ldexp(-1 - random.uniform(), i % 20 - 11));
    exp_all(values);
    EXPECT_EQ(fingerprint(values), 0x1ab983cd9d6c51bb);
}

/// Whatever the width of the registers, and wherever a value stands among them.
TEST(VectorMath, AValueGivesTheSameInAnyCompany) {
    const auto values = drawn(67, 0.1, 10);
    std::vector<double> logs(values.size());
    log_all(values, logs);
    auto exponentials = values;
    exp_all(exponentials);
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t length = 1; i + length <= values.size(); length += 5) {
            const std::span part(values.data() + i, length);
            std::vector<double> some(length);
            log_all(part, some);
            ASSERT_EQ(some[0], logs[i]);
            some.assign(part.begin(), part.end());
            exp_all(some);
            ASSERT_EQ(some[0], exponentials[i]);
        }
}

}  // namespace
}  // namespace kab::stats
