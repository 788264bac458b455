#pragma once
// What `kab compare` says: sentences, tables, limits; the same as JSON and CSV. Pure.
#include <optional>
#include <string>
#include <vector>

#include "daemon/report/document.h"
#include "daemon/results/prepare.h"
#include "daemon/stats/analysis.h"

namespace kab::cli {

struct CompareReport {
    struct Source {
        std::string file, format;
    };
    std::vector<Source> sources;
    results::Prepared prepared;
    stats::Output output;
};

report::Document compare_document(const CompareReport& report);
std::string compare_json(const CompareReport& report);  ///< one object, ends with a newline
std::string compare_csv(const CompareReport& report);   ///< one row a comparison, with a header

// ---- shared by them ----

/// "new against old, time: ratio 0.953 (95% interval 0.939 to 0.968, p 0.0004, n = 10 and 12 runs): improved, ..."
std::string compare_sentence(const CompareReport& report, const stats::Comparison& comparison);
/// What counts as one: "block" or "run".
const char* unit_of_count(const CompareReport& report);
/// Blocks of the pair, or runs of the arm and of its baseline.
std::vector<int> counts_of(const CompareReport& report, const stats::Comparison& comparison);
const stats::Series& series_of(const CompareReport& report, const stats::Comparison& comparison);
/// Absent where the arm has no value.
const stats::Summary* summary_of(const CompareReport& report, int arm, int series);
/// Of the units' means, in the metric's unit; absent with one unit.
std::optional<double> sd_of(const stats::Summary& summary);
/// What the analysis warns of, as far as it concerns measurements from elsewhere.
std::vector<std::string> warnings_of(const CompareReport& report);

}  // namespace kab::cli
