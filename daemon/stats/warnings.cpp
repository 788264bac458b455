#include "daemon/stats/warnings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>

#include "daemon/stats/components.h"
#include "daemon/stats/describe.h"
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

void warn_of_design(const Input& input, std::vector<std::string>& warnings) {
    if (!usable_alpha(input.design)) warnings.push_back("alpha must lie between 0 and 1: 0.05 is used");
    if (!usable_margin(input.design)) warnings.push_back("the margin must be 0 or more: 0 is used");
    for (const auto& series : input.series)
        if (series.quantile && !(*series.quantile > 0 && *series.quantile < 1))
            warnings.push_back(series_name(series) + ": a quantile must lie between 0 and 1: the mean is used");
    bool control = false;
    for (std::size_t a = 0; a < input.arms.size(); ++a) {
        control |= input.arms[a].control && judged(input.arms, a);
        if (input.arms[a].against >= 0 && !judged(input.arms, a))
            warnings.push_back(fmt::format("{} is to be judged against no other arm", input.arms[a].name));
    }
    if (!control) warnings.push_back("there is no control arm: the noise floor is not measured");
    if (!input.design.paired)
        warnings.push_back("boots are not paired in blocks: drift between the arms cannot be told from a difference");
}

/// Every series has all arms in all blocks.
bool nothing_missing(const Input& input, const Cells& cells) {
    const std::size_t all = cells.blocks().size() * cells.arms();
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        const auto series = static_cast<int>(s);
        if (!cells.regular(series) || cells.of(series).size() != all) return false;
    }
    return true;
}

/// Series without values in blocks in which their arm was booted.
void warn_of_gaps(const Input& input, const Cells& cells, const std::vector<Numbers>& booted,
                  std::vector<std::string>& warnings) {
    std::vector<std::string> lines;
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

/// Blocks that lack a boot of an arm, series that lack values, values that are no numbers.
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
    warn_of_gaps(input, cells, booted, warnings);
}

void warn_of_trends(const Input& input, const Series& series, std::span<const BootValues> boots,
                    std::vector<std::string>& warnings) {
    const Trend trend = trend_of(boots);
    const auto size = [&](double slope) {
        return change(series.scale == Scale::log ? std::exp(slope) : slope, series.scale, series.unit);
    };
    if (trend.slope && trend.p && *trend.p < trend_alpha)
        warnings.push_back(fmt::format("{}: the runs of a boot have a trend, {} a run ({}); more warm-ups may help",
                                       series_name(series), size(*trend.slope), p_text(*trend.p)));
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

void warn_of_failures(const Input& input, const std::vector<ArmFailure>& failures, std::vector<std::string>& warnings) {
    for (const auto& row : failures) {
        if (!row.p || row.failed + row.against_failed == 0) continue;
        warnings.push_back(fmt::format("failed boots: {} of {} with {}, {} of {} with {} ({})", row.failed, row.boots,
                                       input.arms[static_cast<std::size_t>(row.arm)].name, row.against_failed,
                                       row.against_boots, input.arms[static_cast<std::size_t>(row.against)].name,
                                       p_text(*row.p)));
    }
}

}  // namespace

std::vector<std::string> warnings_of(const Input& input, const Workings& workings) {
    std::vector<std::string> warnings;
    warn_of_design(input, warnings);
    workings.gaps.warn(warnings);
    warn_of_opposite_points(workings.rows, input.arms, warnings);
    warn_of_missing(input, workings.cells, warnings);
    for (const auto& row : workings.output.components) {
        const Series& series = input.series[static_cast<std::size_t>(row.series)];
        if (series.primary) warn_of_trends(input, series, boots_of(workings.cells, row.series), warnings);
    }
    warn_of_failures(input, workings.output.failures, warnings);
    return warnings;
}

}  // namespace kab::stats
