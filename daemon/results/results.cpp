#include "daemon/results/results.h"

#include <algorithm>
#include <array>

#include "daemon/results/reader.h"

namespace kab::results {
namespace {

struct Name {
    Format format;
    const char* name;
};
constexpr std::array names{Name{Format::csv, "csv"}, Name{Format::hyperfine, "hyperfine"},
                           Name{Format::google_benchmark, "google-benchmark"},
                           Name{Format::go_benchmark, "go-benchmark"}, Name{Format::perf_stat, "perf-stat"}};

bool is_go(std::string_view text) {
    for (const auto& line : lines_of(text)) {
        const auto words = words_of(line.text);
        if (words.size() >= 4 && words[0].starts_with("Benchmark") && number(words[1]) && number(words[2])) return true;
    }
    return false;
}

/// A line of perf has a number (or <not counted>) and, in one of the next fields, the name of an event. Without these
/// columns of numbers are a CSV file that lacks its header.
bool is_perf(std::string_view text) {
    for (const auto& line : lines_of(text)) {
        const auto whole = trimmed(line.text);
        if (whole.empty() || whole.starts_with('#')) continue;
        const auto fields = split(whole, ',');
        if (fields.size() < 5) return false;
        const auto counted = [&](std::size_t i) { return number(fields[i]).has_value() || fields[i].starts_with('<'); };
        const auto word = [&](std::size_t i) { return !fields[i].empty() && !counted(i); };
        for (const std::size_t first : {0U, 1U, 2U})
            if (fields.size() > first + 2 && counted(first) && !counted(first + 1) && word(first + 2)) return true;
        return false;
    }
    return false;
}

std::optional<Format> of_json(const Json& document) {
    if (document.is_object() && document.contains("benchmarks")) return Format::google_benchmark;
    if (document.is_object() && document.contains("results")) return Format::hyperfine;
    return std::nullopt;
}

bool looks_like_json(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const auto first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

Result<Results> read_json(std::string_view text, const std::string& name, std::optional<Format> forced) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const auto document = parse_json(text);
    if (!document) return wrong_at(name, "", "{}", document.error().message);
    const auto format = forced ? forced : of_json(*document);
    if (format == Format::hyperfine) return read_hyperfine(*document, name);
    if (format == Format::google_benchmark) return read_google_benchmark(*document, name);
    return wrong_at(name, "",
                    "JSON of an unknown kind: expected 'results' (hyperfine --export-json) or 'benchmarks' (Google "
                    "Benchmark, --benchmark_format=json)");
}

Result<Results> read_as(std::string_view text, const std::string& name, Format format) {
    switch (format) {
        case Format::csv: return read_csv(text, name);
        case Format::go_benchmark: return read_go_benchmark(text, name);
        case Format::perf_stat: return read_perf_stat(text, name);
        case Format::hyperfine:
        case Format::google_benchmark: return read_json(text, name, format);
    }
    return read_csv(text, name);
}

}  // namespace

const char* to_string(Format format) {
    for (const auto& one : names)
        if (one.format == format) return one.name;
    return "csv";
}

std::optional<Format> parse_format(std::string_view name) {
    for (const auto& one : names)
        if (one.name == name) return one.format;
    return std::nullopt;
}

const std::vector<std::string>& format_names() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> list;
        for (const auto& one : names) list.emplace_back(one.name);
        return list;
    }();
    return all;
}

std::string full_name(const Metric& metric) {
    return metric.workload.empty() ? metric.name : metric.workload + "/" + metric.name;
}

std::optional<Format> recognise(std::string_view text) {
    if (looks_like_json(text)) {
        const auto document = parse_json(text);
        return document ? of_json(*document) : std::nullopt;
    }
    if (trimmed(text).empty() || text.find('\0') != std::string_view::npos) return std::nullopt;
    if (is_go(text)) return Format::go_benchmark;
    return is_perf(text) ? Format::perf_stat : Format::csv;
}

Result<Results> read_results(std::string_view text, const std::string& name, std::optional<Format> forced) {
    if (text.find('\0') != std::string_view::npos) return wrong_at(name, "", "this is no text file");
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return wrong_at(name, "", "the file is empty");
    if (!forced && looks_like_json(text)) return read_json(text, name, forced);
    const auto format = forced ? *forced : recognise(text).value_or(Format::csv);
    auto results = read_as(text, name, format);
    if (results && results->metrics.empty()) return wrong_at(name, "", "there is no value in the file");
    return results;
}

}  // namespace kab::results
