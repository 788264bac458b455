#pragma once
// Adjusted p values of many tests, in the order given.
#include <span>
#include <vector>

namespace kab::stats {

/// Holm's step-down procedure (Scand. J. Statist. 6, 1979): familywise error.
std::vector<double> holm(std::span<const double> p);

/// Benjamini and Hochberg's step-up procedure (J. R. Statist. Soc. B 57, 1995): false discovery rate.
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace kab::stats
