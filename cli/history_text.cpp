#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/history_report.h"
#include "cli/table.h"
#include "daemon/report/figures.h"

namespace kab::cli {
namespace {

using history::Change;
using history::History;
using history::Series;
using history::Trial;
using history::Value;

constexpr std::size_t least_uid = 10;     ///< characters of a uid that are shown: those of its time
constexpr std::size_t hash_shown = 7;     ///< of a kernel's key
constexpr std::size_t least_values = 10;  ///< that a permutation test at the 1% level can tell from chance

stats::Series words_of(const Series& series) {
    stats::Series words;
    words.unit = series.unit;
    words.better = series.better;
    words.scale = series.scale;
    return words;
}

std::string effect(const Series& series, double value) {
    return report::effect(natural(series.scale, value), words_of(series));
}

std::string interval(const Series& series, double estimate, double low, double high) {
    stats::Estimate shown;
    shown.value = natural(series.scale, estimate);
    shown.low = natural(series.scale, low);
    shown.high = natural(series.scale, high);
    return report::interval(shown, words_of(series));
}

const char* effect_word(const Series& series) {
    return series.scale == Scale::log ? "ratio" : "difference";
}

/// "p 0.001", "p <0.0001"
std::string p_text(double p) {
    return "p " + report::p_value(p);
}

std::string day(std::int64_t at) {
    return format_time(at).substr(0, 10);
}

/// Long enough to tell all of a history's evaluations apart.
class Uids {
  public:
    explicit Uids(const History& history) {
        std::vector<std::string> all;
        for (const auto& series : history.series) {
            for (const auto& value : series.values) all.push_back(value.evaluation);
            for (const auto& change : series.changes)
                for (const auto& trial : change.trials) all.push_back(trial.evaluation);
        }
        for (const auto& left : history.left_out) all.push_back(left.evaluation);
        std::sort(all.begin(), all.end());
        for (std::size_t i = 1; i < all.size(); ++i) {
            if (all[i] == all[i - 1]) continue;
            const auto differ = std::mismatch(all[i].begin(), all[i].end(), all[i - 1].begin(), all[i - 1].end());
            length_ = std::max(length_, static_cast<std::size_t>(differ.first - all[i].begin()) + 1);
        }
    }
    std::string operator()(const std::string& uid) const { return uid.substr(0, length_); }

  private:
    std::size_t length_ = least_uid;
};

std::string question_text(const history::Question& question) {
    std::string text = question.workload + "/" + question.metric;
    if (question.point == "*") return text + ", mean over its points";
    return question.point.empty() ? text : text + " at " + question.point;
}

std::string better_text(Better better) {
    if (better == Better::neither) return {};
    return better == Better::lower ? " (lower is better)" : " (higher is better)";
}

bool one_baseline(const Series& series) {
    return std::all_of(series.values.begin(), series.values.end(),
                       [&](const Value& v) { return history::same_kernel(v.base, series.values.front().base); });
}

std::string kernel_text(const history::Kernel& kernel) {
    if (kernel.key.empty()) return "-";
    return (kernel.base_commit.empty() ? kernel.key : kernel.base_commit).substr(0, hash_shown);
}

std::string head(const Series& series, std::size_t width) {
    const auto& values = series.values;
    std::string where =
        fmt::format("{} evaluation{}, {}{}; {}", values.size(), values.size() == 1 ? "" : "s", day(values.front().at),
                    values.size() == 1 ? "" : " to " + day(values.back().at), series.setting);
    if (series.emulated) where += ". Emulated: not evidence for hardware.";
    std::string text = wrap(fmt::format("{} against {}, {}{}", series.question.arm, series.against,
                                        question_text(series.question), better_text(series.better)),
                            width, 2) +
                       "\n" + wrap(where, width, 2) + "\n";
    if (one_baseline(series) && !values.front().base.key.empty())
        text += wrap(fmt::format("baseline throughout: kernel {}{}", kernel_text(values.front().base),
                                 values.front().base.release.empty() ? "" : " (" + values.front().base.release + ")"),
                     width, 2) +
                "\n";
    return text;
}

std::string interval_head(const Series& series) {
    const double level = series.values.front().level;
    const bool same = std::all_of(series.values.begin(), series.values.end(),
                                  [&](const Value& v) { return std::abs(v.level - level) < 1e-9; });
    return same && level > 0 ? fmt::format("{:.4g}% INTERVAL", 100 * level) : "INTERVAL";
}

std::vector<std::string> table_lines(const Series& series, const Uids& uids) {
    const bool base = !one_baseline(series);
    TextTable table;
    table.columns = {"ENDED (UTC)", "EVALUATION"};
    table.right = {false, false};
    if (base) table.columns.push_back("BASE"), table.right.push_back(false);
    for (const char* name : {"KERNEL", "N", series.scale == Scale::log ? "RATIO" : "DIFFERENCE"})
        table.columns.emplace_back(name), table.right.push_back(table.columns.size() > (base ? 4 : 3));
    table.columns.push_back(interval_head(series));
    table.columns.emplace_back("VERDICT");
    for (const auto& value : series.values) {
        std::vector<Cell> row{day(value.at), uids(value.evaluation)};
        if (base) row.emplace_back(kernel_text(value.base));
        row.emplace_back(kernel_text(value.arm));
        row.emplace_back(std::to_string(value.n));
        row.emplace_back(effect(series, value.estimate));
        row.push_back(value.low ? Cell(interval(series, value.estimate, *value.low, *value.high)) : Cell());
        row.emplace_back(value.verdict);
        table.rows.push_back(std::move(row));
    }
    std::vector<std::string> lines;
    std::istringstream text(format_table(table));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}

std::string levels(const Series& series, const Change& change) {
    return fmt::format("{} {} -> {}", effect_word(series), effect(series, change.before), effect(series, change.after));
}

std::string table_text(const Series& series, const Uids& uids) {
    const auto lines = table_lines(series, uids);
    const auto first = lines.size() - series.values.size();  // of the rows
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        for (std::size_t c = 0; c < series.changes.size(); ++c)
            if (const auto& change = series.changes[c]; i >= first && change.index == i - first)
                text += fmt::format("  -- {}: {}, {}, {}{} --\n", c + 1, levels(series, change), p_text(change.p),
                                    to_string(change.state), change.news ? ", NEW" : "");
        text += lines[i] + "\n";
    }
    return text;
}

std::string trial_text(const Series& series, const Trial& trial, const Uids& uids) {
    const char* result = trial.result == Trial::Result::confirms  ? "found it"
                         : trial.result == Trial::Result::refutes ? "excludes even half of it"
                                                                  : "leaves it open";
    return fmt::format(" The A/B {} of {} on both sides {}: {} {} ({}).", uids(trial.evaluation),
                       trial.baselines ? "the baselines" : "the kernels", result, effect_word(series),
                       effect(series, trial.estimate), interval(series, trial.estimate, trial.low, trial.high));
}

std::string kernels_text(const Series& series, const Change& change) {
    if (!change.arm_changed && !change.baseline_changed)
        return " Both sides booted the same kernels: what changed is not a kernel, and no A/B can confirm it.";
    if (!change.arm_changed)
        return fmt::format(" Only the baseline's kernel changed here; {}'s is the same.", series.question.arm);
    return change.baseline_changed ? " The baseline's kernel changed here, too." : "";
}

std::string state_text(const Change& change, const Uids& uids) {
    switch (change.state) {
        case Change::State::confirmed:
            return change.news ? fmt::format(" NEW: announced with {}.", uids(change.announced_at))
                               : fmt::format(" Known since {}.", uids(change.announced_at));
        case Change::State::refuted:
            return change.announced_at.empty() ? " Not announced."
                                               : fmt::format(" Announced with {}; most of the A/Bs refute it by now.",
                                                             uids(change.announced_at));
        case Change::State::held:
            return fmt::format(" {} excludes the old level as well; not confirmed by an A/B, not announced.",
                               uids(change.held_at));
        case Change::State::suspected: return " A suspicion, not announced.";
    }
    return {};
}

std::string change_text(const Series& series, std::size_t number, const Uids& uids, std::size_t width) {
    const auto& change = series.changes[number];
    const double step = change.after - change.before;
    std::string text = fmt::format("{}: from {} on, {}, {} {} (means of {} and {} evaluations, {}){}; found with {}.",
                                   number + 1, uids(series.values[change.index].evaluation), levels(series, change),
                                   series.scale == Scale::log ? "by a factor of" : "by", effect(series, step),
                                   change.before_n, change.after_n, p_text(change.p),
                                   !change.worse   ? ""
                                   : *change.worse ? ": worse"
                                                   : ": better",
                                   uids(change.found_at));
    text += kernels_text(series, change);
    for (const auto& what : change.surroundings_changed) text += " Changed here, too: " + what + ".";
    for (const auto& trial : change.trials) text += trial_text(series, trial, uids);
    text = wrap(text + state_text(change, uids), width, 3) + "\n";
    const bool open = change.state == Change::State::suspected || change.state == Change::State::held;
    if (open && (change.arm_changed || change.baseline_changed)) {
        auto command = confirming_command(series, change);
        const std::string both = " && ";
        command.replace(command.find(both), both.size(), "\n     ");
        text += "   To confirm it:\n     " + command + "\n";
    }
    return text;
}

std::string series_text(const Series& series, const Uids& uids, std::size_t width) {
    std::string text = head(series, width) + "\n" + table_text(series, uids) + "\n";
    for (std::size_t i = 0; i < series.changes.size(); ++i) text += change_text(series, i, uids, width);
    if (!series.changes.empty()) return text;
    const auto count = series.values.size();
    if (count >= least_values) return text + "No change is found.\n";
    return text +
           wrap(fmt::format("With {} evaluation{} no change can be told from chance: it takes {} or more.", count,
                            count == 1 ? "" : "s", least_values),
                width) +
           "\n";
}

std::string left_out_text(const History& history, const Uids& uids, std::size_t width) {
    if (history.left_out.empty()) return {};
    std::string text = "\nleft out\n";
    for (const auto& left : history.left_out)
        text += wrap(fmt::format("  {}  {}  {}", day(left.at), uids(left.evaluation), left.reason), width, 4) + "\n";
    return text;
}

}  // namespace

double natural(Scale scale, double value) {
    return scale == Scale::log ? std::exp(value) : value;
}

const char* to_string(Change::State state) {
    switch (state) {
        case Change::State::suspected: return "suspected";
        case Change::State::refuted: return "refuted";
        case Change::State::held: return "held";
        case Change::State::confirmed: return "confirmed";
    }
    return "";
}

std::string history_text(const std::vector<History>& histories, std::size_t width) {
    std::string text;
    for (const auto& history : histories) {
        const Uids uids(history);
        text += (text.empty() ? "" : "\n") + history.question.experiment + "\n";
        if (history.series.empty()) text += "No evaluation of it counts yet.\n";
        if (history.series.size() > 1)
            text += wrap(fmt::format("Its evaluations ran in {} settings, which cannot be compared: a series each.",
                                     history.series.size()),
                         width) +
                    "\n";
        for (const auto& series : history.series) text += "\n" + series_text(series, uids, width);
        text += left_out_text(history, uids, width);
    }
    return text;
}

}  // namespace kab::cli
