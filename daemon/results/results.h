#pragma once
// Measurements out of the files of other tools: text in, values out. Nothing is dropped silently: what a file holds
// and kab does not use is told in `notes`, what could not be measured in `absent`.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/workload_catalog.h"

namespace kab::results {

enum class Format { csv, hyperfine, google_benchmark, go_benchmark, perf_stat };
/// "csv", "hyperfine", "google-benchmark", "go-benchmark", "perf-stat".
const char* to_string(Format format);
std::optional<Format> parse_format(std::string_view name);
/// Every name, for messages: "csv, hyperfine, ...".
const std::vector<std::string>& format_names();

/// One value of one run.
struct Value {
    int arm = 0;               ///< index into Results::arms; 0 where the file knows no arms
    std::optional<int> block;  ///< whatever number the file gives; absent where it gives none
    int iteration = 0;         ///< of the arm in the block, or in the file
    double value = 0;          ///< finite, in the metric's unit
};

/// A metric of a benchmark.
struct Metric {
    std::string workload;          ///< the benchmark's name; empty where the file has one only
    std::string name, unit;        ///< unit as the file has it; empty where it has none
    std::optional<Better> better;  ///< where the format says
    std::optional<Scale> scale;    ///< where the format says
    std::vector<Value> values;     ///< in the order of the file
};

/// A value that was asked for and could not be had.
struct Absent {
    std::string metric, reason;
    int arm = 0;
    int runs = 0;
};

struct Results {
    Format format = Format::csv;
    std::vector<std::string> arms;  ///< empty: the file is all of one arm and does not name it
    /// Parallel to `arms` (or one entry): runs, and those that failed, where the format says.
    std::vector<int> runs, failed;
    std::vector<Metric> metrics;  ///< in the order of the file
    std::vector<Absent> absent;
    std::vector<std::string> notes;  ///< what was not used, one sentence each
};

/// Which format a text is in, by its content; absent when it is none.
std::optional<Format> recognise(std::string_view text);

/// Reads a whole file. `name` is for messages: errors (Fault::usage) are at "name:line" or "name: results[0].times[3]"
/// and say what would be right. `forced`: not recognised, but taken as that.
Result<Results> read_results(std::string_view text, const std::string& name,
                             std::optional<Format> forced = std::nullopt);

/// "metric" or "workload/metric".
std::string full_name(const Metric& metric);

}  // namespace kab::results
