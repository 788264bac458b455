#include "daemon/stats/warnings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>

#include "daemon/stats/components.h"
#include "daemon/stats/describe.h"
#include "daemon/stats/multiplicity.h"
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

/// The runs of a series' boots on the scale of the metric: where a quantile of them is compared the cells have them as
/// observed.
class Runs {
  public:
    Runs(const Input& input, const Cells& cells, int series) : boots_(boots_of(cells, series)) {
        const auto& own = input.series[static_cast<std::size_t>(series)];
        if (!own.quantile || own.scale != Scale::log) return;
        logarithms_.reserve(boots_.size());
        for (auto& boot : boots_) {
            auto& values = logarithms_.emplace_back(boot.values.begin(), boot.values.end());
            for (auto& value : values) value = std::log(value);
            boot.values = values;
            boot.mean.reset();
        }
    }
    std::span<const BootValues> boots() const { return boots_; }

  private:
    std::vector<BootValues> boots_;
    std::vector<std::vector<double>> logarithms_;
};

/// What a test found, in words without its p.
struct Finding {
    std::string text;
    double p = 1;
};

/// Tests of one kind over the points of a sweep: by Holm, or else one of many would be found by chance.
void warn_of(const std::vector<Finding>& findings, const char* advice, std::vector<std::string>& warnings) {
    std::vector<double> p;
    for (const auto& one : findings) p.push_back(one.p);
    const auto adjusted = holm(p);
    for (std::size_t i = 0; i < findings.size(); ++i)
        if (adjusted[i] < trend_alpha)
            warnings.push_back(fmt::format("{} ({}{}){}", findings[i].text, findings.size() > 1 ? "adjusted " : "",
                                           p_text(adjusted[i]), advice));
}

/// Of the primary: what its runs do within a boot, and whether they do otherwise in an arm.
void warn_of_trends(const Input& input, const Cells& cells, std::vector<std::string>& warnings) {
    std::vector<Finding> trends, unlike;
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        const Series& series = input.series[s];
        if (!series.primary) continue;
        const Runs runs(input, cells, static_cast<int>(s));
        const std::string name = series_name(series) + ": the runs of a boot ";
        const Trend trend = trend_of(runs.boots());
        if (trend.slope && trend.p && std::isfinite(*trend.slope)) {
            const double slope = series.scale == Scale::log ? std::exp(*trend.slope) : *trend.slope;
            trends.push_back(
                {fmt::format("{}have a trend, {} a run", name, change(slope, series.scale, series.unit)), *trend.p});
        }
        for (std::size_t a = 0; a < input.arms.size(); ++a) {
            const auto& arm = input.arms[a];
            if (arm.against < 0 || arm.against >= static_cast<int>(input.arms.size()) || !arm.question()) continue;
            const auto& against = input.arms[static_cast<std::size_t>(arm.against)];
            if (const auto p = slope_interaction_p(runs.boots(), static_cast<int>(a), arm.against))
                unlike.push_back(
                    {fmt::format("{}change otherwise in {} than in {}", name, arm.name, against.name), *p});
        }
    }
    warn_of(trends, "; more warm-ups may help", warnings);
    warn_of(unlike, "", warnings);
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
    warn_of_trends(input, workings.cells, warnings);
    warn_of_failures(input, workings.output.failures, warnings);
    return warnings;
}

}  // namespace kab::stats
