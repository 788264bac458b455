#include "daemon/stats/describe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "daemon/stats/fisher.h"
#include "daemon/stats/sums.h"
#include "daemon/stats/words.h"

namespace kab::stats {
namespace {

constexpr double trend_alpha = 0.01;
constexpr std::size_t most_lines = 12;  ///< of one kind of warning

using Numbers = std::vector<int>;

/// Of two ascending lists, what only the first has.
Numbers without(const Numbers& all, const Numbers& those) {
    Numbers rest;
    std::set_difference(all.begin(), all.end(), those.begin(), those.end(), std::back_inserter(rest));
    return rest;
}

const char* block_word(const Numbers& blocks) {
    return blocks.size() == 1 ? "block" : "blocks";
}

/// Adds the lines, past most_lines only their number.
void add_lines(std::vector<std::string>& warnings, const std::vector<std::string>& lines, const char* rest) {
    for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i) warnings.push_back(lines[i]);
    if (lines.size() > most_lines) warnings.push_back(fmt::format("{} more {}", lines.size() - most_lines, rest));
}

/// What the boots of one arm have given of a series.
struct Seen {
    std::vector<double> boot_means;
    std::size_t values = 0;
    double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();

    void add(std::span<const double> of_boot) {
        boot_means.push_back(mean(of_boot));
        values += of_boot.size();
        for (const double value : of_boot) {
            least = std::min(least, value);
            most = std::max(most, value);
        }
    }
};

Summary summary_of(const Seen& seen) {
    Summary result;
    const Moments m = moments(seen.boot_means);
    result.boots = static_cast<int>(m.n);
    result.values = static_cast<int>(seen.values);
    result.mean = m.mean;
    const double relative = std::sqrt(m.variance) / std::abs(m.mean);
    if (m.n >= 2 && std::isfinite(relative)) result.relative_sd = relative;
    result.min = seen.least;
    result.max = seen.most;
    return result;
}

void warn_of_trends(const Input& input, const Series& series, std::span<const BootValues> boots, const Components& c,
                    std::vector<std::string>& warnings) {
    const auto size = [&](double slope) {
        return change(series.scale == Scale::log ? std::exp(slope) : slope, series.scale, series.unit);
    };
    if (c.trend && c.trend_p && *c.trend_p < trend_alpha)
        warnings.push_back(fmt::format("{}: the runs of a boot have a trend, {} a run ({}); more warm-ups may help",
                                       series_name(series), size(*c.trend), p_text(*c.trend_p)));
    for (std::size_t a = 0; a < input.arms.size(); ++a) {
        const auto& arm = input.arms[a];
        if (arm.against < 0 || arm.against >= static_cast<int>(input.arms.size()) || !arm.question()) continue;
        const auto p = slope_interaction_p(boots, static_cast<int>(a), arm.against);
        if (p && *p < trend_alpha)
            warnings.push_back(fmt::format("{}: the runs of a boot change otherwise in {} than in {} ({})",
                                           series_name(series), arm.name,
                                           input.arms[static_cast<std::size_t>(arm.against)].name, p_text(*p)));
    }
}

}  // namespace

std::string series_name(const Series& series) {
    std::string name = series.workload.empty() ? series.metric : series.workload + "/" + series.metric;
    return series.point.empty() ? name : name + " (" + series.point + ")";
}

std::vector<Summary> summaries(const Input& input, const Cells& cells) {
    std::vector<Summary> result;
    std::vector<double> finite;
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        std::vector<Seen> arms(input.arms.size());
        for (const auto& cell : cells.of(static_cast<int>(s))) {
            auto values = cells.values(cell);
            if (cell.state == Cell::State::not_finite) {
                finite.clear();
                for (const double value : values)
                    if (std::isfinite(value)) finite.push_back(value);
                values = finite;
            }
            if (!values.empty()) arms[static_cast<std::size_t>(cell.arm)].add(values);
        }
        for (std::size_t a = 0; a < arms.size(); ++a) {
            if (arms[a].values == 0) continue;
            Summary summary = summary_of(arms[a]);
            summary.arm = static_cast<int>(a);
            summary.series = static_cast<int>(s);
            result.push_back(summary);
        }
    }
    return result;
}

std::vector<BootValues> boots_of(const Cells& cells, int series) {
    std::vector<BootValues> result;
    const auto of_series = cells.of(series);
    result.reserve(of_series.size());
    for (const auto& cell : of_series)
        if (cell.state == Cell::State::ok)
            result.push_back({cell.block, cell.arm, cells.scaled(cell), cells.iterations(cell), cell.score});
    return result;
}

std::vector<VarianceComponents> components_of(const Input& input, const Cells& cells, double cost_boot,
                                              double cost_iteration, std::vector<std::string>& warnings) {
    std::vector<VarianceComponents> result;
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        // Components explain a mean over iterations, not a quantile of them.
        if (input.series[s].quantile) continue;
        const auto boots = boots_of(cells, static_cast<int>(s));
        if (boots.empty()) continue;
        const Components c = variance_components(boots);
        const auto broken = [](std::optional<double> value) { return value && !std::isfinite(*value); };
        if (broken(c.block) || broken(c.boot) || broken(c.iteration) || broken(c.trend)) continue;
        VarianceComponents row;
        row.series = static_cast<int>(s);
        row.block = c.block;
        row.boot = c.boot;
        row.iteration = c.iteration;
        row.trend = c.trend;
        row.best_iterations = best_iterations(c, cost_boot, cost_iteration);
        result.push_back(row);
        if (input.series[s].primary) warn_of_trends(input, input.series[s], boots, c, warnings);
    }
    return result;
}

std::vector<ArmFailure> failures_of(const Input& input, std::vector<std::string>& warnings) {
    std::vector<ArmFailure> result;
    for (std::size_t a = 0; a < input.arms.size(); ++a) {
        const auto& arm = input.arms[a];
        if (arm.against < 0 || arm.against >= static_cast<int>(input.arms.size())) continue;
        const auto& against = input.arms[static_cast<std::size_t>(arm.against)];
        ArmFailure row{static_cast<int>(a), arm.against, arm.failed, arm.boots, against.failed, against.boots, {}};
        const bool sane = arm.failed >= 0 && arm.failed <= arm.boots && against.failed >= 0 &&
                          against.failed <= against.boots && arm.boots > 0 && against.boots > 0;
        if (sane) row.p = fisher_exact(arm.failed, arm.boots, against.failed, against.boots);
        if (row.p && arm.failed + against.failed > 0)
            warnings.push_back(fmt::format("failed boots: {} of {} with {}, {} of {} with {} ({})", arm.failed,
                                           arm.boots, arm.name, against.failed, against.boots, against.name,
                                           p_text(*row.p)));
        result.push_back(row);
    }
    return result;
}

namespace {

/// Every series has all arms in all blocks.
bool nothing_missing(const Input& input, const Cells& cells) {
    const std::size_t all = cells.blocks().size() * cells.arms();
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        const auto series = static_cast<int>(s);
        if (!cells.regular(series) || cells.of(series).size() != all) return false;
    }
    return true;
}

}  // namespace

void warn_of_missing(const Input& input, const Cells& cells, std::vector<std::string>& warnings) {
    if (cells.stray() > 0)
        warnings.push_back(fmt::format("{} of no known arm or metric are left out",
                                       counted(static_cast<long long>(cells.stray()), "value")));
    if (nothing_missing(input, cells)) return;
    std::vector<Numbers> booted(input.arms.size());
    for (std::size_t s = 0; s < input.series.size(); ++s)
        for (const auto& cell : cells.of(static_cast<int>(s)))
            booted[static_cast<std::size_t>(cell.arm)].push_back(cell.block);
    std::vector<std::string> lines;
    for (std::size_t a = 0; a < input.arms.size(); ++a) {
        std::sort(booted[a].begin(), booted[a].end());
        booted[a].erase(std::unique(booted[a].begin(), booted[a].end()), booted[a].end());
        const Numbers missing = input.design.paired ? without(cells.blocks(), booted[a]) : Numbers{};
        if (!missing.empty())
            lines.push_back(
                fmt::format("{} has no values in {} {}", input.arms[a].name, block_word(missing), listed(missing)));
    }
    add_lines(warnings, lines, "arms lack blocks");
    lines.clear();
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        std::vector<Numbers> present(input.arms.size());
        int odd = 0;
        for (const auto& cell : cells.of(static_cast<int>(s))) {
            present[static_cast<std::size_t>(cell.arm)].push_back(cell.block);
            odd += cell.state == Cell::State::not_finite ? 1 : 0;
        }
        const std::string name = series_name(input.series[s]);
        if (odd > 0)
            lines.push_back(
                fmt::format("{}: {} with values that are no numbers, left out", name, counted(odd, "boot")));
        for (std::size_t a = 0; a < input.arms.size(); ++a) {
            const Numbers missing = without(booted[a], present[a]);
            if (!missing.empty())
                lines.push_back(fmt::format("{}: no value of {} in {} {}", name, input.arms[a].name,
                                            block_word(missing), listed(missing)));
        }
    }
    add_lines(warnings, lines, "gaps of this kind");
}

}  // namespace kab::stats
