#pragma once
// One comparison: from differences to estimate, intervals and p values. No verdicts yet.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/stats/paired.h"
#include "daemon/stats/pairs.h"
#include "daemon/stats/stage.h"

namespace kab::stats {

/// The verdict that a primary comparison reached at an earlier look.
struct Earlier {
    int look = 0;
    Verdict verdict = Verdict::none;
    bool material = false;
};

/// What the analysis knows of a comparison beyond its row in the output. Intervals and margin are on the
/// scale of the metric (logarithms or plain).
struct Measured {
    Comparison row;
    Scale scale = Scale::log;
    Better better = Better::lower;
    std::string unit, point;
    int group = 0;  ///< its metric's place among all
    Level level;
    Level gate;  ///< of controls and arms of the same machine code: what their difference may spend
    double margin = 0;
    bool has_margin = true;      ///< false: none can be said on its scale, so that nothing is material
    bool exact_mode = false;     ///< Design::exact
    const char* noun = "block";  ///< what n counts
    bool usable = false;         ///< there is an estimate
    PairedT test;
    Interval difference, equivalence;  ///< valid under the looks taken
    double rank_least_p = 1;           ///< least two-sided p the rank test can give here
    double rank_equivalence_p = 1;     ///< rank counterpart of p_equivalence
    double exact_p = 1;                ///< two-sided p of a difference without variation
    std::optional<Earlier> earlier;
    bool taken_back = false;  ///< this look alone would not give the verdict of `earlier`
    /// It would, but not whether that is material; what it would say of it.
    std::optional<bool> material_now;
};

/// The test and the intervals that follow from it at m.level; usable from two blocks on.
void set_test(Measured& m, const PairedT& test);

/// Shared by all comparisons of an analysis.
class Judge {
  public:
    explicit Judge(const Stage& stage) : repeated_(stage.information) {}
    /// Fills test, intervals, p values, rank row and detectable effect of `m` from its pairs; on failure
    /// row.reason says why there is no estimate.
    void measure(Measured& m, const Pairs& pairs);
    /// The same for two independent samples of scores.
    void measure_unpaired(Measured& m, const std::vector<double>& arm, const std::vector<double>& against,
                          double tolerance);

  private:
    void fill(Measured& m);
    void fill_exact(Measured& m);
    void fill_detectable(Measured& m);

    RepeatedP repeated_;
    std::map<std::pair<int, double>, std::optional<double>> detectable_;  ///< in units of sd
};

/// An interval of the metric's scale as a row shows it. False when a bound is not finite.
bool to_estimate(double value, const Interval& interval, double level, Scale scale, std::optional<Estimate>& out);

}  // namespace kab::stats
