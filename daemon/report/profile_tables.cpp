// The profiles as a reader sees them: the top symbols.
#include <algorithm>

#include "daemon/report/compose.h"
#include "daemon/report/figures.h"
#include "daemon/report/profile.h"

namespace kab::report {
namespace {

constexpr double least_shown = 0.01;
constexpr std::size_t most_symbols = 12, most_callers = 5, most_points = 2;

constexpr const char* what_a_sample_is =
    "where each CPU was when its timer said so, idle ones left out; what is spent with interrupts off shows up where "
    "they go on again, as in _raw_spin_unlock_irqrestore. In a group of symbols: by the nearest caller outside the "
    "groups";

double largest(const ProfileLine& line, const std::vector<int>& arms) {
    double most = 0;
    for (const int arm : arms) most = std::max(most, line.share[static_cast<std::size_t>(arm)].value_or(0));
    return most;
}

/// The top symbols, each with its top callers.
std::vector<const ProfileLine*> shown_lines(const PointProfile& profile, const std::vector<int>& arms) {
    std::vector<const ProfileLine*> lines;
    std::size_t symbols = 0, callers = 0;
    bool above = false;
    for (const auto& line : profile.lines) {
        const bool large = largest(line, arms) >= least_shown;
        if (line.caller.empty()) {
            above = large && symbols < most_symbols;
            callers = 0;
            if (above) ++symbols;
        }
        const bool shown = line.caller.empty() ? above : above && large && callers++ < most_callers;
        if (shown) lines.push_back(&line);
    }
    return lines;
}

std::string name_of(const ProfileLine& line) {
    return line.caller.empty() ? line.symbol : "  from " + line.caller;
}

std::string place_of(const PointProfile& profile) {
    return profile.workload + (profile.point.empty() ? "" : " at " + profile.point);
}

/// Percentage points, with a sign: 100 times a difference of shares.
std::string points(double difference) {
    const std::string text = fmt::format("{:+.2f}", 100 * difference);
    return text == "-0.00" || text == "+0.00" ? "0.00" : text;
}

Table level_table(const ReportInput& report, const PointProfile& profile, const std::vector<int>& arms,
                  const std::vector<const ProfileLine*>& lines) {
    Table table;
    table.title = place_of(profile) + ", profile: share of the samples, mean of the boots";
    table.caution = caution(report);
    table.align = "l";
    table.header = {"symbol"};
    for (const int arm : arms) {
        table.align += 'r';
        table.header.push_back(report.input.arms[static_cast<std::size_t>(arm)].name);
    }
    for (const auto* line : lines) {
        std::vector<std::string> row{name_of(*line)};
        for (const int arm : arms) {
            const auto& value = line->share[static_cast<std::size_t>(arm)];
            row.push_back(value ? share(*value) : "absent");
        }
        table.rows.push_back(std::move(row));
    }
    table.notes.emplace_back(what_a_sample_is);
    return table;
}

std::vector<std::string> difference_row(const ProfileLine& line, const std::optional<ShareDifference>& difference) {
    std::vector<std::string> row{name_of(line), "-", "-", "-", "0"};
    if (!difference) return row;
    row[1] = points(difference->value);
    if (difference->low)
        row[2] = difference->p ? points(*difference->low) + " to " + points(*difference->high) : "exact";
    if (difference->p_adjusted) row[3] = p_value(*difference->p_adjusted);
    row[4] = std::to_string(difference->n);
    return row;
}

std::optional<Table> difference_table(const ReportInput& report, const PointProfile& profile, int arm,
                                      const std::vector<const ProfileLine*>& lines) {
    const auto& info = report.input.arms[static_cast<std::size_t>(arm)];
    if (info.against < 0) return std::nullopt;
    const auto index = static_cast<std::size_t>(arm);
    const auto tested = std::count_if(profile.lines.begin(), profile.lines.end(), [&](const ProfileLine& line) {
        return line.difference[index] && line.difference[index]->p_adjusted;
    });
    Table table;
    table.title = fmt::format("{} against {}{}, profile: differences in percentage points", info.name,
                              report.input.arms[static_cast<std::size_t>(info.against)].name,
                              profile.point.empty() ? "" : " at " + profile.point);
    table.caution = caution(report);
    table.align = "lrrrr";
    table.header = {"symbol", "difference", "interval", "adj. p", "n"};
    bool any = false;
    for (const auto* line : lines) {
        any |= line->difference[index].has_value();
        table.rows.push_back(difference_row(*line, line->difference[index]));
    }
    if (!any) return std::nullopt;
    std::string note = "all shares add up to 100%: where one falls, others rise";
    if (tested > 0)
        note =
            fmt::format(
                "intervals: {:.4g}%, Student's t over blocks, each for its row alone and for this look alone; adj. p: "
                "Benjamini and Hochberg over the {} rows of {} or more in an arm; ",
                100 * (1 - report.input.design.alpha), tested, share(least_share)) +
            note;
    table.notes.push_back(std::move(note));
    return table;
}

}  // namespace

std::vector<Table> profile_tables(const ReportInput& report, const std::string& workload) {
    auto all = profiles(report);
    std::erase_if(all, [&](const PointProfile& profile) { return profile.workload != workload; });
    const auto points = all.size();
    if (points > most_points) all = {std::move(all.front()), std::move(all.back())};
    const auto arms = shown_arms(report);
    std::vector<Table> tables;
    for (const auto& profile : all) {
        const auto lines = shown_lines(profile, arms);
        if (lines.empty()) continue;
        tables.push_back(level_table(report, profile, arms, lines));
        if (points > most_points)
            tables.back().notes.push_back(fmt::format(
                "profiles of the first and the last of {} points; all are in --format json and --format csv", points));
        for (const int arm : arms)
            if (auto table = difference_table(report, profile, arm, lines)) tables.push_back(std::move(*table));
    }
    return tables;
}

}  // namespace kab::report
