#pragma once
// What the analysis is given: the plan, the arms, the metrics and the values of the boots that count.
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
    std::string stopped_why{};  ///< after the arm's name: "could not be built", "fails to boot"
    /// Stopped for kernel faults in a row: regressed, unless its baseline fails as well.
    bool keeps_failing = false;
    /// Stopped by a self-check before anything was timed: regressed, unless the arm it is judged against failed, too.
    bool failed_checks = false;
    /// Machine code, command line and modules are those of the arm it is judged against: whatever they differ
    /// by is noise. It is then one more control and never improved or regressed.
    bool same_code = false;
    /// The arm it is judged against with its code moved: what it differs by is what the placement of code alone does.
    /// No question and no gate.
    bool relinked = false;

    /// Neither a control nor relinked: it is there to be judged.
    bool question() const { return !control && !relinked; }
};

/// A metric of a workload at a point.
struct Series {
    std::string workload, point, metric;  ///< point: "" or "tasks=4"
    std::string unit;
    Better better = Better::lower;
    Scale scale = Scale::log;
    bool primary = false;
    /// Judged by itself, not as a point of a sweep that is judged by its mean: one of its points was declared to
    /// decide.
    bool apart = false;
    /// Score of a boot by this quantile of its values (0.99: latency tails) instead of their mean; between 0 and 1.
    std::optional<double> quantile{};
};

struct Design {
    double alpha = 0.05;     ///< two-sided, familywise
    double margin = 0.02;    ///< share for log metrics, absolute for linear ones
    std::vector<int> looks;  ///< blocks at the planned looks; the last is the cap. One look: fixed N
    bool fixed = false;
    /// false: blocks mean nothing across arms (data from elsewhere). Welch's t and Mann-Whitney on the
    /// boots' scores instead of the paired tests; no protection against drift.
    bool paired = true;
    /// Declared exact mode: a value is the same in every boot by construction, so that a difference without any
    /// variation needs no p. Elsewhere it is judged by the sign test over blocks.
    bool exact = false;
    /// The margin is a share in every case: of the baseline's mean for linear metrics.
    bool relative_margin = false;
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

}  // namespace kab::stats
