#include "daemon/results/reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kab::results {

int Collector::arm(const std::string& name) {
    auto& arms = results_.arms;
    const auto found = std::find(arms.begin(), arms.end(), name);
    if (found != arms.end()) return static_cast<int>(found - arms.begin());
    arms.push_back(name);
    return static_cast<int>(arms.size()) - 1;
}

std::size_t Collector::metric(const std::string& workload, const std::string& name, const std::string& unit,
                              std::optional<Better> better) {
    const auto [found, fresh] = metrics_.emplace(std::pair(workload, name), results_.metrics.size());
    if (fresh) {
        Metric metric;
        metric.workload = workload;
        metric.name = name;
        metric.unit = unit;
        metric.better = better;
        results_.metrics.push_back(std::move(metric));
    }
    return found->second;
}

void Collector::add(std::size_t metric, int arm, std::optional<int> block, std::optional<int> iteration, double value) {
    if (!iteration) iteration = next_[{metric, arm, block}]++;
    results_.metrics[metric].values.push_back({arm, block, *iteration, value});
}

void Collector::absent(const std::string& metric, int arm, const std::string& reason) {
    for (auto& one : results_.absent)
        if (one.metric == metric && one.arm == arm && one.reason == reason) {
            ++one.runs;
            return;
        }
    results_.absent.push_back({metric, reason, arm, 1});
}

void Collector::note(const std::string& text) {
    auto& notes = results_.notes;
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

void Collector::run(int arm, bool failed) {
    const auto at = static_cast<std::size_t>(arm);
    if (results_.runs.size() <= at) {
        results_.runs.resize(at + 1);
        results_.failed.resize(at + 1);
    }
    ++results_.runs[at];
    results_.failed[at] += failed ? 1 : 0;
}

Results Collector::finish() {
    for (const auto& [what, count] : skipped_) note(fmt::format("not used: {} {}", count, what));
    std::erase_if(results_.metrics, [](const Metric& metric) { return metric.values.empty(); });
    return std::move(results_);
}

std::vector<Line> lines_of(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    std::vector<Line> lines;
    int number = 0;
    while (!text.empty()) {
        const auto end = text.find('\n');
        auto line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.push_back({++number, line});
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return lines;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view space = " \t\r";
    const auto first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!(text = trimmed(text)).empty()) {
        const auto end = std::min(text.find_first_of(" \t"), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

std::optional<double> number(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace kab::results
