#include "daemon/stats/welch.h"

#include <cmath>

#include "daemon/stats/distributions.h"
#include "daemon/stats/sums.h"

namespace kab::stats {

Welch welch(std::span<const double> x, std::span<const double> y) {
    Welch result;
    const Moments a = moments(x), b = moments(y);
    result.n_x = static_cast<int>(a.n);
    result.n_y = static_cast<int>(b.n);
    result.difference = a.mean - b.mean;
    if (a.n < 2 || b.n < 2) return result;
    result.valid = true;
    const double va = a.variance / static_cast<double>(a.n), vb = b.variance / static_cast<double>(b.n);
    if (va + vb == 0) {
        result.exact = true;
        return result;
    }
    result.standard_error = std::sqrt(va + vb);
    // Shares instead of (va + vb)^2 over squares: no overflow, no underflow.
    const double share = va / (va + vb);
    result.df =
        1 / (share * share / static_cast<double>(a.n - 1) + (1 - share) * (1 - share) / static_cast<double>(b.n - 1));
    result.t = result.difference / result.standard_error;
    result.p = t_two_sided(result.t, result.df);
    return result;
}

}  // namespace kab::stats
