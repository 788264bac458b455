#include "cli/history_report.h"
#include "common/json.h"

namespace kab::cli {
namespace {

using history::Change;
using history::Series;
using history::Trial;

/// Twelve digits: what logarithms and back do to the last ones says nothing.
Json figure(Scale scale, double value) {
    return std::stod(fmt::format("{:.12g}", natural(scale, value)));
}

Json figure(Scale scale, const std::optional<double>& value) {
    return value ? figure(scale, *value) : Json(nullptr);
}

Json kernel_json(const history::Kernel& kernel) {
    return {{"key", kernel.key},
            {"code_signature", kernel.code_signature},
            {"base_commit", kernel.base_commit},
            {"release", kernel.release},
            {"command_line", kernel.command_line}};
}

Json values_json(const Series& series) {
    Json values = Json::array();
    for (const auto& value : series.values)
        values.push_back({{"evaluation", value.evaluation},
                          {"ended_at", value.at},
                          {"base", kernel_json(value.base)},
                          {"kernel", kernel_json(value.arm)},
                          {"n", value.n},
                          {"estimate", figure(series.scale, value.estimate)},
                          {"low", figure(series.scale, value.low)},
                          {"high", figure(series.scale, value.high)},
                          {"level", value.level},
                          {"verdict", value.verdict}});
    return values;
}

const char* result_word(Trial::Result result) {
    if (result == Trial::Result::confirms) return "confirms";
    return result == Trial::Result::refutes ? "refutes" : "open";
}

Json or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json change_json(const Series& series, const Change& change) {
    Json trials = Json::array();
    for (const auto& trial : change.trials)
        trials.push_back({{"evaluation", trial.evaluation},
                          {"ended_at", trial.at},
                          {"of", trial.baselines ? "baselines" : "kernels"},
                          {"estimate", figure(series.scale, trial.estimate)},
                          {"low", figure(series.scale, trial.low)},
                          {"high", figure(series.scale, trial.high)},
                          {"result", result_word(trial.result)}});
    const bool open = change.state == Change::State::suspected || change.state == Change::State::held;
    const bool kernels = change.arm_changed || change.baseline_changed;
    return {{"before_evaluation", series.values[change.index - 1].evaluation},
            {"evaluation", series.values[change.index].evaluation},
            {"index", change.index},
            {"p", change.p},
            {"before", figure(series.scale, change.before)},
            {"after", figure(series.scale, change.after)},
            {"before_n", change.before_n},
            {"after_n", change.after_n},
            {"worse", change.worse ? Json(*change.worse) : Json(nullptr)},
            {"kernel_changed", change.arm_changed},
            {"baseline_changed", change.baseline_changed},
            {"surroundings_changed", change.surroundings_changed},
            {"trials", trials},
            {"state", to_string(change.state)},
            {"found_at", change.found_at},
            {"held_at", or_null(change.held_at)},
            {"announced_at", or_null(change.announced_at)},
            {"new", change.news},
            {"confirm", open && kernels ? Json(confirming_command(series, change)) : Json(nullptr)}};
}

Json series_json(const Series& series) {
    const char* better = series.better == Better::lower    ? "lower"
                         : series.better == Better::higher ? "higher"
                                                           : "neither";
    Json changes = Json::array();
    for (const auto& change : series.changes) changes.push_back(change_json(series, change));
    return {{"against", series.against},
            {"unit", series.unit},
            {"better", better},
            {"scale", series.scale == Scale::log ? "log" : "linear"},
            {"setting", series.setting},
            {"emulated", series.emulated},
            {"values", values_json(series)},
            {"changes", changes}};
}

}  // namespace

std::string history_json(const std::string& experiment, const std::vector<history::History>& histories) {
    Json all = Json::array();
    for (const auto& history : histories) {
        Json series = Json::array(), left_out = Json::array();
        for (const auto& one : history.series) series.push_back(series_json(one));
        for (const auto& left : history.left_out)
            left_out.push_back({{"evaluation", left.evaluation}, {"submitted_at", left.at}, {"reason", left.reason}});
        all.push_back({{"arm", history.question.arm},
                       {"workload", history.question.workload},
                       {"metric", history.question.metric},
                       {"point", history.question.point},
                       {"series", series},
                       {"left_out", left_out}});
    }
    return dump_json({{"experiment", experiment}, {"histories", all}}) + "\n";
}

}  // namespace kab::cli
