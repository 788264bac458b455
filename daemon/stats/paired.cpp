#include "daemon/stats/paired.h"

#include <algorithm>
#include <cmath>

#include "daemon/stats/distributions.h"
#include "daemon/stats/sums.h"

namespace kab::stats {

PairedT paired_t(std::span<const double> differences, double tolerance) {
    PairedT result;
    const Moments m = moments(differences);
    result.n = static_cast<int>(m.n);
    result.mean = m.mean;
    if (m.n < 2) return result;
    const auto [least, most] = std::minmax_element(differences.begin(), differences.end());
    if (*most - *least <= tolerance) {
        result.exact = true;
        if (*most == *least) result.mean = *least;
        if (std::abs(result.mean) <= tolerance) result.mean = 0;
        return result;
    }
    result.sd = std::sqrt(m.variance);
    result.standard_error = result.sd / std::sqrt(static_cast<double>(m.n));
    result.df = static_cast<double>(m.n - 1);
    result.t = result.mean / result.standard_error;
    result.p = t_two_sided(result.t, result.df);
    return result;
}

Interval t_interval(const PairedT& result, double one_sided_p) {
    if (result.exact || result.n < 2) return {result.mean, result.mean};
    const double half = t_upper_quantile(one_sided_p, result.df) * result.standard_error;
    return {result.mean - half, result.mean + half};
}

double equivalence_p(const PairedT& result, double margin) {
    if (result.n < 2) return 1;
    if (result.exact) return std::abs(result.mean) <= margin ? 0 : 1;
    // The larger of the two p values is that of the nearer end.
    const double inside = std::min(result.mean + margin, margin - result.mean);
    return t_upper(inside / result.standard_error, result.df);
}

}  // namespace kab::stats
