#include "daemon/stats/vector_math.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "daemon/stats/wide.h"

namespace kab::stats {
namespace {

// ln 2 in two parts; the first has 21 trailing zero bits, so that its product with an exponent is exact.
constexpr double ln2_high = 0x1.62e42fee00000p-1;
constexpr double ln2_low = 0x1.a39ef35793c76p-33;

/// 2^k (1 + f) with 1 + f from the root of one half to the root of 2; log(1 + f) = f - f^2/2 + s (f^2/2 + R), s = f /
/// (2 + f), R = 2 s^2 (1/3 + s^2/5 + s^4/7 + ...): the series of the area tangent, the large part apart.
[[gnu::always_inline]] inline double log_one(double x) {
    constexpr std::uint64_t one_half_root = 0x3fe6a09e667f3bcd, two_to_52 = 0x4330000000000000;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    // Biased, so that the shift needs no sign.
    const std::uint64_t biased = ((bits - one_half_root) + (std::uint64_t{1024} << 52)) >> 52;
    const double k = std::bit_cast<double>(biased | two_to_52) - (0x1p52 + 1024);
    const double f = std::bit_cast<double>(bits - ((biased - 1024) << 52)) - 1;
    const double half_square = 0.5 * f * f, s = f / (2 + f), z = s * s, w = z * z;
    const double odd = w * (2.0 / 5 + w * (2.0 / 9 + w * (2.0 / 13 + w * (2.0 / 17 + w * (2.0 / 21)))));
    const double even = z * (2.0 / 3 + w * (2.0 / 7 + w * (2.0 / 11 + w * (2.0 / 15 + w * (2.0 / 19)))));
    const double rest = s * (half_square + (even + odd));
    return k * ln2_high - ((half_square - (rest + k * ln2_low)) - f);
}

/// exp(k ln 2 + r) = 2^k exp(r) with |r| at most ln 2 / 2; exp(r) by its Taylor series, whose next term is 4e-18.
[[gnu::always_inline]] inline double exp_one(double x) {
    constexpr double round = 0x1.8p52;  // added, it leaves a whole number in the low bits
    x = x < -700 ? -700 : x;
    const double shifted = x * 0x1.71547652b82fep+0 + round;
    const double k = shifted - round;
    const double r = (x - k * ln2_high) - k * ln2_low;
    const double q = 1.0 / 6227020800;
    double p = 1.0 / 479001600 + r * q;
    p = 1.0 / 39916800 + r * p;
    p = 1.0 / 3628800 + r * p;
    p = 1.0 / 362880 + r * p;
    p = 1.0 / 40320 + r * p;
    p = 1.0 / 5040 + r * p;
    p = 1.0 / 720 + r * p;
    p = 1.0 / 120 + r * p;
    p = 1.0 / 24 + r * p;
    p = 1.0 / 6 + r * p;
    p = 0.5 + r * p;
    p = 1 + (r + r * r * p);
    const std::uint64_t power = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
    return p * std::bit_cast<double>(power);
}

}  // namespace

KAB_WIDE void log_all(std::span<const double> from, std::span<double> to) {
    const std::size_t n = from.size();
    const double* const in = from.data();
    double* const out = to.data();
    for (std::size_t i = 0; i < n; ++i) out[i] = log_one(in[i]);
}

KAB_WIDE void exp_all(std::span<double> values) {
    const std::size_t n = values.size();
    double* const at = values.data();
    for (std::size_t i = 0; i < n; ++i) at[i] = exp_one(at[i]);
}

}  // namespace kab::stats
