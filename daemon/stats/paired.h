#pragma once
// Student's t on the differences of pairs, and two one-sided tests for equivalence on the same.
#include <span>

namespace kab::stats {

struct PairedT {
    int n = 0;
    double mean = 0, sd = 0;
    double standard_error = 0;
    double t = 0, df = 0;
    double p = 1;        ///< two-sided
    bool exact = false;  ///< no variation: t, df and p say nothing
};

/// `differences` finite. n < 2 leaves all but n and mean at their defaults. Values that differ by no
/// more than `tolerance` count as equal (rounding of logarithms); a mean within it counts as 0 then.
PairedT paired_t(std::span<const double> differences, double tolerance = 0);

struct Interval {
    double low = 0, high = 0;
};

/// mean -/+ the t quantile at `one_sided_p` times the standard error; the mean alone when exact.
Interval t_interval(const PairedT& result, double one_sided_p);

/// Schuirmann's two one-sided tests (J. Pharmacokinet. Biopharm. 15, 1987): the larger of the two
/// one-sided p values that the mean lies outside (-margin, margin). Exact results give 0 or 1.
double equivalence_p(const PairedT& result, double margin);

}  // namespace kab::stats
