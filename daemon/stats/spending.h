#pragma once
// Group-sequential bounds: how much of an error probability may be spent at which look.
// Recursive numerical integration after Armitage, McPherson and Rowe (J. R. Statist. Soc. A 132, 1969)
// with spending functions after Lan and DeMets (Biometrika 70, 1983).
#include <span>
#include <vector>

namespace kab::stats {

enum class Spending {
    hwang_shih_decani,  ///< gamma = -4 (Hwang, Shih, DeCani, Statist. Med. 9, 1990)
    obrien_fleming,     ///< Lan and DeMets' O'Brien-Fleming type
};

/// Share of `alpha` (one-sided) spent when the share `t` of the information is in; 0 <= t <= 1.
double spent(Spending rule, double alpha, double t);

/// One look of a one-sided design.
struct Bound {
    double z = 0;          ///< the statistic must be above
    double nominal_p = 0;  ///< P(Z > z): the level of the single test at this look
    double spent = 0;      ///< of alpha, up to and with this look
};

/// Upper bounds at the given information shares (ascending, in (0, 1]), one-sided alpha in (0, 0.5].
std::vector<Bound> bounds(Spending rule, double alpha, std::span<const double> information);

/// Planned looks as shares of the cap (the last look): {6, 16, 32} gives {.1875, .5, 1}. Not ascending or
/// not positive ones are dropped.
std::vector<double> information_shares(std::span<const int> looks);

/// Turns the p value of the single test at the last of the given looks into the p value that counts the
/// looks: the least alpha at which the bound would have been crossed there (Jennison and Turnbull, Group
/// Sequential Methods, 2000, section 9.5: repeated p value). For Hwang-Shih-DeCani spending.
class RepeatedP {
  public:
    explicit RepeatedP(std::vector<double> information);
    /// One-sided in, one-sided out (at most 0.5: beyond that it says nothing).
    double one_sided(double nominal_p) const;
    /// Two-sided p of a symmetric test in and out, at most 1.
    double two_sided(double p) const;

  private:
    double log_nominal(double log_alpha) const;
    double log_alpha_of(double wanted) const;

    std::vector<double> information_;
    std::vector<double> nodes_, values_, weights_;  ///< log alpha -> log nominal p, barycentric at Chebyshev nodes
};

}  // namespace kab::stats
