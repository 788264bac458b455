#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "daemon/results/prepare.h"

namespace kab::results {
namespace {

template <class... Args>
tl::unexpected<Error> usage(const std::string& where, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Error{Fault::usage, fmt::format(format, std::forward<Args>(args)...), where});
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string file_name(const std::string& path) {
    const auto slash = path.find_last_of('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// Several commands of one hyperfine file beside another file: they are benchmarks, not arms.
void commands_to_workloads(Results& results) {
    std::vector<Metric> metrics;
    std::map<std::pair<int, std::string>, std::size_t> index;
    for (const auto& metric : results.metrics)
        for (const auto& value : metric.values) {
            const auto [found, fresh] = index.emplace(std::pair(value.arm, metric.name), metrics.size());
            if (fresh) {
                metrics.push_back(metric);
                metrics.back().workload = results.arms[static_cast<std::size_t>(value.arm)];
                metrics.back().values.clear();
            }
            auto moved = value;
            moved.arm = 0;
            metrics[found->second].values.push_back(moved);
        }
    for (auto& absent : results.absent) {
        absent.metric = results.arms[static_cast<std::size_t>(absent.arm)] + "/" + absent.metric;
        absent.arm = 0;
    }
    const auto total = [](const std::vector<int>& counts) {
        int sum = 0;
        for (const int count : counts) sum += count;
        return counts.empty() ? counts : std::vector<int>{sum};
    };
    results.runs = total(results.runs);
    results.failed = total(results.failed);
    results.metrics = std::move(metrics);
    results.arms.clear();
}

/// Names for the two arms of two files.
std::array<std::string, 2> names_of(const File& a, const File& b) {
    const auto own = [](const File& file) {
        const bool named = file.results.format == Format::csv && file.results.arms.size() == 1;
        return named ? file.results.arms.front() : std::string();
    };
    if (!own(a).empty() && !own(b).empty() && own(a) != own(b)) return {own(a), own(b)};
    if (file_name(a.name) != file_name(b.name)) return {file_name(a.name), file_name(b.name)};
    if (a.name != b.name) return {a.name, b.name};
    return {a.name, a.name + " (again)"};
}

/// A column without a name beside one with a name: the same metric.
void name_alike(Results& a, Results& b) {
    if (a.metrics.size() != 1 || b.metrics.size() != 1) return;
    auto &one = a.metrics.front(), &other = b.metrics.front();
    const auto nameless = [](const Metric& metric) { return metric.workload.empty() && metric.name == "value"; };
    if (nameless(one) && other.workload.empty()) one.name = other.name;
    if (nameless(other) && one.workload.empty()) other.name = one.name;
}

struct TimeUnit {
    const char* name;
    double ns;
};
constexpr std::array time_units{TimeUnit{"ns", 1},     TimeUnit{"us", 1e3},   TimeUnit{"ms", 1e6}, TimeUnit{"s", 1e9},
                                TimeUnit{"msec", 1e6}, TimeUnit{"usec", 1e3}, TimeUnit{"sec", 1e9}};

/// By what a value in `from` is multiplied to be in `to`; absent when they do not measure the same.
std::optional<double> factor(const std::string& from, const std::string& to) {
    if (from == to) return 1;
    const auto find = [](const std::string& name) {
        return std::find_if(time_units.begin(), time_units.end(),
                            [&](const TimeUnit& unit) { return name == unit.name; });
    };
    const auto a = find(from), b = find(to);
    if (a == time_units.end() || b == time_units.end()) return std::nullopt;
    return a->ns / b->ns;
}

Status add_metric(Merged& merged, Metric metric, const std::string& file) {
    const auto found = std::find_if(merged.metrics.begin(), merged.metrics.end(), [&](const Metric& known) {
        return known.workload == metric.workload && known.name == metric.name;
    });
    if (found == merged.metrics.end()) {
        merged.metrics.push_back(std::move(metric));
        return {};
    }
    const auto times = factor(metric.unit, found->unit);
    if (!times)
        return usage(file, "{} is in '{}' here, but in '{}' in the baseline's file: convert one of them",
                     full_name(metric), metric.unit, found->unit);
    for (auto& value : metric.values) {
        value.value *= *times;
        found->values.push_back(value);
    }
    if (!found->better) found->better = metric.better;
    if (!found->scale) found->scale = metric.scale;
    return {};
}

/// `arms`: what the arms of the file are in the whole.
Status add_file(Merged& merged, File file, const std::vector<int>& arms) {
    auto& results = file.results;
    const auto of = [&](int arm) { return arms[static_cast<std::size_t>(arm)]; };
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        merged.runs[static_cast<std::size_t>(arms[i])] = results.runs[i];
        merged.failed[static_cast<std::size_t>(arms[i])] = results.failed[i];
    }
    for (auto& absent : results.absent) {
        absent.arm = of(absent.arm);
        merged.absent.push_back(absent);
    }
    for (const auto& note : results.notes) {
        const auto text = fmt::format("{}: {}", file_name(file.name), note);
        if (std::find(merged.notes.begin(), merged.notes.end(), text) == merged.notes.end())
            merged.notes.push_back(text);
    }
    for (auto& metric : results.metrics) {
        for (auto& value : metric.values) value.arm = of(value.arm);
        if (const auto done = add_metric(merged, std::move(metric), file.name); !done) return done;
    }
    return {};
}

Result<Merged> merge_one(File file, const std::string& baseline) {
    const auto arms = file.results.arms;
    if (arms.size() < 2)
        return usage(file.name, "{}: give a second file to compare with{}",
                     arms.empty() ? "the file names no arms" : "the file has one arm only, " + arms.front(),
                     file.results.format == Format::csv ? ", or a column 'arm' with two or more" : "");
    auto first = arms.begin();
    if (!baseline.empty()) first = std::find(arms.begin(), arms.end(), baseline);
    if (first == arms.end()) return usage(file.name, "there is no arm '{}'; there are: {}", baseline, joined(arms));
    Merged merged;
    merged.arms = {*first};
    for (auto arm = arms.begin(); arm != arms.end(); ++arm)
        if (arm != first) merged.arms.push_back(*arm);
    if (baseline.empty())
        merged.notes.push_back(fmt::format("the baseline is the first arm, {} (--baseline chooses another)", *first));
    std::vector<int> index;
    for (const auto& arm : arms)
        index.push_back(static_cast<int>(std::find(merged.arms.begin(), merged.arms.end(), arm) - merged.arms.begin()));
    merged.runs.resize(arms.size());
    merged.failed.resize(arms.size());
    if (const auto done = add_file(merged, std::move(file), index); !done) return pass(done);
    return merged;
}

}  // namespace

Result<Merged> merge(std::vector<File> files, const std::string& baseline) {
    if (files.size() == 1) return merge_one(std::move(files.front()), baseline);
    if (files.size() != 2) return usage("", "expected one file with several arms, or two files");
    if (!baseline.empty())
        return usage("", "--baseline is for one file with several arms: of two files the first is it");
    const auto several = [](const File& file) { return file.results.arms.size() > 1; };
    if (several(files[0]) || several(files[1]))
        for (auto& file : files) {
            if (file.results.format == Format::hyperfine) commands_to_workloads(file.results);
            if (several(file))
                return usage(file.name, "the file has {} arms ({}): give it alone, or a file for each",
                             file.results.arms.size(), joined(file.results.arms));
        }
    name_alike(files[0].results, files[1].results);
    const auto names = names_of(files[0], files[1]);
    Merged merged;
    merged.arms.assign(names.begin(), names.end());
    merged.runs.resize(2);
    merged.failed.resize(2);
    for (int i = 0; i < 2; ++i)
        if (const auto done = add_file(merged, std::move(files[static_cast<std::size_t>(i)]), {i}); !done)
            return pass(done);
    return merged;
}

}  // namespace kab::results
