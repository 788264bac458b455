#pragma once
// Samples in, verdicts out. Pure: no clock, no I/O, no global random state. The same input gives the
// same output bit for bit. Method: docs/statistics.md.
#include <optional>
#include <string>
#include <vector>

#include "daemon/stats/input.h"

namespace kab::stats {

enum class Verdict { invalid, equivalent, improved, regressed, inconclusive, pending, none };
const char* to_string(Verdict verdict);

/// An estimate with the interval valid under the looks taken. Log metrics: ratios; linear: differences.
struct Estimate {
    double value = 0, low = 0, high = 0;
    /// Two-sided confidence: of the t interval over all looks together, of the rank interval the one
    /// really reached (a few blocks cannot give more).
    double level = 0.95;
};

/// One arm against its baseline in one series (or, with series == -1, the sweep's mean over points).
struct Comparison {
    int arm = 0, against = 0, series = -1;
    std::string workload, metric;      ///< filled also for sweeps
    int n = 0;                         ///< blocks used (both arms present); unpaired: boots of the smaller side
    std::optional<Estimate> estimate;  ///< absent when n < 2 or the value cannot be compared (reason says why)
    double sd = 0;                     ///< of the block differences (log scale for log metrics)
    double t = 0, df = 0;
    bool exact = false;                     ///< the differences do not vary: estimate without t, df and p
    std::optional<double> p;                ///< two-sided t of this look alone
    std::optional<double> p_sequential;     ///< p, counting the looks (repeated p value)
    std::optional<double> p_adjusted;       ///< p_sequential, Holm over primaries or BH over secondaries
    std::optional<double> p_rank;           ///< exact Wilcoxon signed-rank; unpaired: Mann-Whitney
    std::optional<Estimate> rank_estimate;  ///< Hodges-Lehmann
    std::optional<double> p_equivalence;    ///< TOST at the margin
    std::optional<double> detectable;       ///< least effect found with 90% power at this n (ratio-1 or difference)
    /// As a share for log metrics, in the unit for linear ones; absent where none can be said on the scale. 0, which is
    /// usual in exact mode: there any difference exceeds it; elsewhere nothing is material.
    std::optional<double> margin;
    double spent = 0;        ///< two-sided alpha spent on a difference up to and with this look
    bool control = false;    ///< A' against its baseline: a gate, no question
    bool same_code = false;  ///< ArmInfo::same_code of the arm: a gate as well
    bool relinked = false;   ///< ArmInfo::relinked of the arm: shows what placement does, no question
    bool failing = false;    ///< regressed because the arm keeps failing; there may be no estimate
    bool primary = false, material = false, fragile = false;
    Verdict verdict = Verdict::none;
    /// Look (from 0) at which the verdict of a primary fell; it is not taken back at a later one.
    std::optional<int> decided_at;
    /// How many blocks (without pairing: boots a side) an evaluation that looks at them once would need in all to
    /// likely settle it (80% power), when inconclusive and not hopeless.
    std::optional<int> blocks_needed;
    std::string reason;    ///< short cause: why no estimate, why invalid, why regressed without figures; or empty
    std::string sentence;  ///< one plain sentence with the figures and the verdict

    bool question() const { return !control && !relinked; }
};

/// Per arm and series, over accepted boots.
struct Summary {
    int arm = 0, series = 0;
    int boots = 0, values = 0;
    double mean = 0;                    ///< of boot means; arithmetic, in the unit
    std::optional<double> relative_sd;  ///< of boot means, a share; absent with one boot or a mean of 0
    double min = 0, max = 0;
};

/// Variances on the scale of the metric (log or linear); absent where the data cannot tell. With one iteration a boot
/// `iteration` is absent and `boot` is the spread of both together.
struct VarianceComponents {
    int series = 0;
    std::optional<double> block, boot, iteration;
    std::optional<double> trend;  ///< mean change per iteration index within a boot
    /// Advice, of the primary only: for a sweep on its mean over the points, the same in the rows of all its points.
    std::optional<int> best_iterations;
};

/// Advice goes no further: it means so many or more.
inline constexpr int most_best_iterations = 100;

struct ArmFailure {
    int arm = 0, against = 0;
    int failed = 0, boots = 0, against_failed = 0, against_boots = 0;
    std::optional<double> p;  ///< Fisher's exact, two-sided
};

struct Trade {
    int arm = 0;
    int better_comparison = 0, worse_comparison = 0;  ///< indices into Output::comparisons
    bool at_point = false;                            ///< at a point of the primary's sweep: no mean shows it
};

struct Output {
    std::vector<Summary> summaries;
    std::vector<Comparison> comparisons;  ///< primaries first, then by series and arm
    std::vector<VarianceComponents> components;
    std::vector<ArmFailure> failures;
    std::vector<Trade> trades;
    Verdict verdict = Verdict::pending;  ///< of the evaluation: the worst over primaries, invalid first
    bool decided = false;               ///< nothing more to learn: every primary has its verdict, or the cap is reached
    int blocks = 0;                     ///< blocks used
    std::string sentence;               ///< why it stops or goes on
    std::vector<std::string> warnings;  ///< points that pull apart, missing cells, trends ...
    std::optional<int> blocks_needed;   ///< in all, would likely settle every primary, when inconclusive
};

/// Everything. Never throws for odd data: what cannot be computed is absent with a reason.
/// Costs (measured; 0 unknown) are for the advice only: of a boot with all in it but the iterations of the primary, and
/// of one more of these, which is a run at each of its points.
Output analyse(const Input& input, double cost_boot_ns = 0, double cost_iteration_ns = 0);

}  // namespace kab::stats
