#pragma once
// The distributions that the tests need, on Boost.Math. Tails are given directly, never as 1 - p.
namespace kab::stats {

/// P(Z > z) of the standard normal.
double normal_upper(double z);
/// z with P(Z > z) = p; 0 < p < 1.
double normal_upper_quantile(double p);
double normal_density(double z);

/// P(T > t) of Student's t; df > 0, need not be whole.
double t_upper(double t, double df);
/// P(|T| > |t|).
double t_two_sided(double t, double df);
/// t with P(T > t) = p; 0 < p < 1.
double t_upper_quantile(double p, double df);
/// P(T > t) of the noncentral t.
double noncentral_t_upper(double t, double df, double delta);

/// P(F > f).
double f_upper(double f, double df1, double df2);

/// Natural logarithm of n over k; 0 <= k <= n.
double log_choose(double n, double k);

}  // namespace kab::stats
