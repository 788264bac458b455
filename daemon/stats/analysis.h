#pragma once
// Samples in, verdicts out. Pure: no clock, no I/O, no global random state. The same input gives the
// same output bit for bit. Method: docs/statistics.md.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/workload_catalog.h"

namespace kab::stats {

/// One non-warm-up value of one run of an accepted boot.
struct Observation {
    int block = 0;      ///< from 1
    int arm = 0;        ///< index into Input::arms
    int series = 0;     ///< index into Input::series
    int iteration = 0;  ///< within the boot, from 0
    double value = 0;   ///< in the metric's unit; finite
};

struct ArmInfo {
    std::string name;
    int against = -1;  ///< index of the arm it is judged against; -1 for a baseline
    bool control = false;
    int boots = 0, failed = 0;  ///< kernel faults among finished boots, for Fisher's test
    bool stopped = false;       ///< no more boots will come: its open comparisons are not waited for
};

/// A metric of a workload at a point.
struct Series {
    std::string workload, point, metric;  ///< point: "" or "tasks=4"
    std::string unit;
    Better better = Better::lower;
    Scale scale = Scale::log;
    bool primary = false;
};

struct Design {
    double alpha = 0.05;     ///< two-sided, familywise
    double margin = 0.02;    ///< share for log metrics, absolute for linear ones
    std::vector<int> looks;  ///< blocks at the planned looks; the last is the cap. One look: fixed N
    bool fixed = false;
    /// false: blocks mean nothing across arms (data from elsewhere). Welch's t and Mann-Whitney on the
    /// boots' scores instead of the paired tests; no protection against drift.
    bool paired = true;
};

struct Input {
    Design design;
    std::vector<ArmInfo> arms;
    std::vector<Series> series;
    std::vector<Observation> observations;
    std::vector<int> excluded_blocks;  ///< listed in the report, not used
    /// Environment gates that failed, one sentence each; any of them makes every verdict `invalid`.
    std::vector<std::string> failed_gates;
    int look = 0;  ///< index of the look now taken, from 0; -1: not a planned look (preview)
};

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
    double margin = 0;                      ///< as a share for log metrics, in the unit for linear ones
    bool control = false;                   ///< A' against its baseline: a gate, no question
    bool primary = false, material = false, fragile = false;
    Verdict verdict = Verdict::none;
    std::string reason;  ///< one plain sentence; why absent, why invalid
};

/// Per arm and series, over accepted boots.
struct Summary {
    int arm = 0, series = 0;
    int boots = 0, values = 0;
    double mean = 0, relative_sd = 0;  ///< of boot means; arithmetic, in the unit; relative_sd a share
    double min = 0, max = 0;
};

struct VarianceComponents {
    int series = 0;
    double block = 0, boot = 0, iteration = 0;  ///< variances on the scale of the metric (log or linear)
    double trend = 0;                           ///< mean change per iteration index within a boot
    int best_iterations = 0;                    ///< advice; 0 when unknown
};

struct ArmFailure {
    int arm = 0, against = 0;
    int failed = 0, boots = 0, against_failed = 0, against_boots = 0;
    std::optional<double> p;  ///< Fisher's exact, two-sided
};

struct Trade {
    int arm = 0;
    int better_comparison = 0, worse_comparison = 0;  ///< indices into Output::comparisons
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
    std::optional<int> more_blocks;     ///< how many would likely settle it, when inconclusive
};

/// Everything. Never throws for odd data: what cannot be computed is absent with a reason.
/// `cost_boot_ns`/`cost_iteration_ns` (measured; 0 unknown) are for the advice only.
Output analyse(const Input& input, double cost_boot_ns = 0, double cost_iteration_ns = 0);

}  // namespace kab::stats
