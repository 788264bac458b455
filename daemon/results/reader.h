#pragma once
// What the readers of the formats share: where they are, what they gather, how they complain.
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/json.h"
#include "daemon/results/results.h"

namespace kab::results {

/// Gathers values into Results; metrics and arms appear in the order of their first value.
class Collector {
  public:
    explicit Collector(Format format) { results_.format = format; }

    int arm(const std::string& name);
    /// The index of a metric; its unit is that of the first mention.
    std::size_t metric(const std::string& workload, const std::string& name, const std::string& unit,
                       std::optional<Better> better = std::nullopt);
    Metric& at(std::size_t metric) { return results_.metrics[metric]; }
    /// `iteration` absent: the next of its arm and block.
    void add(std::size_t metric, int arm, std::optional<int> block, std::optional<int> iteration, double value);
    void absent(const std::string& metric, int arm, const std::string& reason);
    /// Counts one more of a kind of thing that is not used; told once, as "<count> <what>".
    void skip(const std::string& what) { ++skipped_[what]; }
    void note(const std::string& text);
    void run(int arm, bool failed);

    /// Metrics without a value are left out; they are in `absent`.
    Results finish();

  private:
    Results results_;
    std::map<std::pair<std::string, std::string>, std::size_t> metrics_;
    std::map<std::tuple<std::size_t, int, std::optional<int>>, int> next_;
    std::map<std::string, int> skipped_;
};

/// A line of text with its number; '\r' and the byte order mark of the file are gone.
struct Line {
    int number = 0;
    std::string_view text;
};
std::vector<Line> lines_of(std::string_view text);

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
/// Words between spaces and tabs.
std::vector<std::string_view> words_of(std::string_view text);

/// A plain decimal number, "12", "-3.5e-7"; absent for anything else, also for nan and inf.
std::optional<double> number(std::string_view text);

/// Fault::usage at "name:line".
template <class... Args>
tl::unexpected<Error> wrong(const std::string& name, int line, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(
        Error{Fault::usage, fmt::format(format, std::forward<Args>(args)...), fmt::format("{}:{}", name, line)});
}
/// Fault::usage at a path in a JSON document: "name: results[0].times".
template <class... Args>
tl::unexpected<Error> wrong_at(const std::string& name, const std::string& path, fmt::format_string<Args...> format,
                               Args&&... args) {
    return tl::unexpected(Error{Fault::usage, fmt::format(format, std::forward<Args>(args)...),
                                path.empty() ? name : fmt::format("{}: {}", name, path)});
}

Result<Results> read_csv(std::string_view text, const std::string& name);
Result<Results> read_hyperfine(const Json& document, const std::string& name);
Result<Results> read_google_benchmark(const Json& document, const std::string& name);
Result<Results> read_go_benchmark(std::string_view text, const std::string& name);
Result<Results> read_perf_stat(std::string_view text, const std::string& name);

}  // namespace kab::results
