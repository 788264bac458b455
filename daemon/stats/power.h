#pragma once
// What a number of blocks can find: power of the paired t test by the noncentral t distribution.
// Effects are given in units of sd(d), the standard deviation of the block differences.
#include <optional>

namespace kab::stats {

/// Probability that |t| exceeds the t quantile at `one_sided_p` (each side) with n blocks.
double paired_power(int n, double effect, double one_sided_p);

/// Least effect found with the given power; nullopt below two blocks.
std::optional<double> detectable_effect(int n, double one_sided_p, double power = 0.9);

/// Beyond this many blocks nobody measures: the effect counts as not to be found.
inline constexpr int most_blocks = 10'000;

/// Least number of blocks (from 2 to `most`) with the given power; nullopt when there is none or effect is 0.
std::optional<int> blocks_for_difference(double effect, double one_sided_p, double power = 0.9, int most = most_blocks);

/// As above, to find the true mean `effect` inside +-`margin` by two one-sided tests at `one_sided_p`.
std::optional<int> blocks_for_equivalence(double effect, double margin, double one_sided_p, double power = 0.9,
                                          int most = most_blocks);

}  // namespace kab::stats
