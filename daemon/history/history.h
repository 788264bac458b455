#pragma once
// The evaluations of one experiment as a series by time, and where it changes. Pure: rows in, findings out; the same
// rows give the same findings. What counts as found, confirmed and announced: docs/statistics.md, "Change points".
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/workload_catalog.h"
#include "daemon/store/rows.h"

namespace kab::history {

/// One evaluation as stored; of any experiment.
struct Record {
    store::EvaluationTree tree;
    std::vector<store::KernelRow> kernels;
    std::vector<store::ComparisonRow> comparisons;  ///< of its last look
    std::vector<store::BootReport> boots;           ///< finished ones
};

/// What makes a kernel of an arm the kernel it is.
struct Kernel {
    std::string key, image_hash, code_signature, modules, command_line;
    std::string path, base_commit, release;
};

/// The same machine code (or the same image), modules and command line.
bool same_kernel(const Kernel& a, const Kernel& b);

/// Which comparison of each evaluation.
struct Question {
    std::string experiment, arm, workload, metric;
    std::string point;  ///< "*": the mean over a sweep
};

/// One evaluation in a series. Estimate and bounds are on the scale of the analysis: logarithms of ratios, or
/// differences for a linear metric.
struct Value {
    std::string evaluation;
    std::int64_t at = 0;  ///< when it ended
    Kernel base, arm;
    std::int64_t n = 0;
    double estimate = 0, level = 0;
    std::optional<double> low, high;
    std::string verdict;
    std::map<std::string, std::string> surroundings;  ///< of the boots: emulator, clocksource, ...
};

/// An evaluation that booted the two kernels of a change against each other and played no part in finding it.
struct Trial {
    enum class Result { confirms, refutes, open };
    std::string evaluation;
    std::int64_t at = 0;
    bool baselines = false;                  ///< of the baselines; else of the arm's kernels
    double estimate = 0, low = 0, high = 0;  ///< what it says of the change, in the direction of the series
    Result result = Result::open;
};

struct Change {
    enum class State {
        suspected,  ///< found, nothing else
        refuted,    ///< of each kernel that changed most of the fresh A/Bs exclude even half of it
        held,       ///< a later evaluation of the series, too, excludes the old level
        confirmed,  ///< most of the fresh A/Bs of the kernels on both sides found it as well, now or once
    };
    std::size_t index = 0;  ///< of the first value after it
    double p = 1;           ///< of the permutation test
    double before = 0, after = 0;
    std::size_t before_n = 0, after_n = 0;
    std::optional<bool> worse;  ///< absent where neither direction is better
    bool arm_changed = false, baseline_changed = false;
    std::vector<std::string> surroundings_changed;  ///< "emulator: A -> B"
    std::vector<Trial> trials;                      ///< by time
    State state = State::suspected;
    std::string found_at, held_at;  ///< evaluations
    /// The evaluation with which it was first both found and confirmed; or empty. Kept where it is refuted later.
    std::string announced_at;
    bool news = false;  ///< no evaluation of the experiment, and no A/B, has ended since
};

struct Series {
    Question question;
    std::string against, unit;
    Better better = Better::lower;  ///< as the newest of its evaluations has it
    Scale scale = Scale::log;
    std::string setting;  ///< machine, parameters, score, what a share is of: the same for all values
    bool emulated = false;
    std::vector<Value> values;    ///< by time
    std::vector<Change> changes;  ///< by index
};

struct LeftOut {
    std::string evaluation;
    std::int64_t at = 0;  ///< when it was submitted
    std::string reason;
};

struct History {
    Question question;
    std::vector<Series> series;     ///< one for each setting; that of the newest evaluation last
    std::vector<LeftOut> left_out;  ///< by time
};

/// What to ask where the user did not say: each measured arm, the primary metric, its mean over points or the only
/// point; as the newest evaluation of the experiment that has comparisons has them. Empty when none has any.
/// Fault::usage, naming what there is, for an arm, metric ("W/M") or point that no evaluation has.
Result<std::vector<Question>> questions(const std::vector<Record>& records, const std::string& experiment,
                                        const std::optional<std::string>& arm, const std::optional<std::string>& metric,
                                        const std::optional<std::string>& point);

/// `records`: every evaluation of the experiment, and of others those that booted kernels of its.
History find(const Question& question, const std::vector<Record>& records);

}  // namespace kab::history
