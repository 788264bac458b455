#pragma once
// From files of measurements to what the analysis is given: which arms, which metrics, paired in blocks or not.
#include <string>
#include <vector>

#include "daemon/results/results.h"
#include "daemon/stats/input.h"

namespace kab::results {

struct File {
    std::string name;  ///< as given on the command line
    Results results;
};

struct Request {
    double alpha = 0.05,
           margin = 0.02;  ///< margin: a share, of the baseline's mean for metrics compared as differences
    /// "metric", "workload" or "workload/metric"; the metrics that the first names are primary. Empty: every metric;
    /// those called as the first of the baseline are primary.
    std::vector<std::string> metrics;
    std::vector<std::string> higher;  ///< metrics of which more is better
    std::vector<std::string> linear;  ///< metrics to be compared as differences
    std::string baseline;             ///< arm of a single file; empty: its first
};

struct Prepared {
    stats::Input input;              ///< the baseline is arm 0
    bool blocks = false;             ///< paired in blocks
    std::vector<std::string> notes;  ///< what was assumed and what was not used
    std::vector<Absent> absent;      ///< arm: index into input.arms
};

/// One file with several arms, or two files with one arm each (baseline first). Fault::usage says what is missing and
/// what there is instead.
Result<Prepared> prepare(std::vector<File> files, const Request& request);

// ---- its parts ----

/// All files as one: every arm in one list, the baseline first; every metric once, in one unit.
struct Merged {
    std::vector<std::string> arms;
    std::vector<int> runs, failed;  ///< parallel to arms
    std::vector<Metric> metrics;
    std::vector<Absent> absent;
    std::vector<std::string> notes;
};
Result<Merged> merge(std::vector<File> files, const std::string& baseline);

}  // namespace kab::results
