#include "daemon/stats/distributions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kab::stats {
namespace {

namespace bm = boost::math;
// No exceptions out of the library, and the same result where long double is wider than double.
using Policy =
    bm::policies::policy<bm::policies::promote_double<false>, bm::policies::domain_error<bm::policies::ignore_error>,
                         bm::policies::pole_error<bm::policies::ignore_error>,
                         bm::policies::overflow_error<bm::policies::ignore_error>,
                         bm::policies::underflow_error<bm::policies::ignore_error>,
                         bm::policies::evaluation_error<bm::policies::ignore_error>>;

using StudentsT = bm::students_t_distribution<double, Policy>;
using NoncentralT = bm::non_central_t_distribution<double, Policy>;
using FisherF = bm::fisher_f_distribution<double, Policy>;
using Normal = bm::normal_distribution<double, Policy>;

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

double normal_upper(double z) {
    return 0.5 * std::erfc(z / std::sqrt(2.0));
}

double normal_upper_quantile(double p) {
    if (p <= 0) return infinity;
    if (p >= 1) return -infinity;
    return bm::quantile(bm::complement(Normal(), p));
}

double normal_density(double z) {
    constexpr double one_over_root_two_pi = 0.39894228040143267794;
    return one_over_root_two_pi * std::exp(-0.5 * z * z);
}

double t_upper(double t, double df) {
    if (std::isinf(t)) return t > 0 ? 0 : 1;
    return bm::cdf(bm::complement(StudentsT(df), t));
}

double t_two_sided(double t, double df) {
    return std::min(1.0, 2 * t_upper(std::abs(t), df));
}

double t_upper_quantile(double p, double df) {
    if (p <= 0) return infinity;
    if (p >= 1) return -infinity;
    // A memo of a pure function: all comparisons of an analysis ask for the same few.
    struct Entry {
        double p = 0, df = 0, quantile = 0;
    };
    thread_local std::array<Entry, 64> memo;
    const std::uint64_t mixed =
        (std::bit_cast<std::uint64_t>(p) ^ std::rotl(std::bit_cast<std::uint64_t>(df), 32)) * 0x9e3779b97f4a7c15;
    Entry& entry = memo[mixed >> 58];
    if (entry.p != p || entry.df != df) entry = {p, df, bm::quantile(bm::complement(StudentsT(df), p))};
    return entry.quantile;
}

double noncentral_t_upper(double t, double df, double delta) {
    if (std::isinf(t)) return t > 0 ? 0 : 1;
    if (std::abs(delta) > 35) {
        // Beyond the range of the series; Johnson and Welch's normal approximation is exact enough out here.
        const double scale = std::sqrt(1 + t * t / (2 * df));
        return normal_upper((t * (1 - 1 / (4 * df)) - delta) / scale);
    }
    return std::clamp(bm::cdf(bm::complement(NoncentralT(df, delta), t)), 0.0, 1.0);
}

double f_upper(double f, double df1, double df2) {
    if (!(f > 0)) return 1;
    if (std::isinf(f)) return 0;
    return bm::cdf(bm::complement(FisherF(df1, df2), f));
}

double log_choose(double n, double k) {
    return bm::lgamma(n + 1, Policy()) - bm::lgamma(k + 1, Policy()) - bm::lgamma(n - k + 1, Policy());
}

}  // namespace kab::stats
