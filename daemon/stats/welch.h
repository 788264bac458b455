#pragma once
// Two independent samples: Welch's t (Biometrika 34, 1947) with Satterthwaite's degrees of freedom.
#include <span>

namespace kab::stats {

struct Welch {
    int n_x = 0, n_y = 0;
    double difference = 0;  ///< mean x - mean y
    double standard_error = 0;
    double t = 0, df = 0;
    double p = 1;        ///< two-sided
    bool exact = false;  ///< neither sample varies: t, df and p say nothing
    bool valid = false;  ///< at least two values on each side
};

Welch welch(std::span<const double> x, std::span<const double> y);

}  // namespace kab::stats
