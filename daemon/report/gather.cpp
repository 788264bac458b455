#include "daemon/report/gather.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "common/json.h"

namespace kab::report {
namespace {

using SeriesKey = std::tuple<std::string, std::string, std::string>;  ///< workload, point, metric

struct Plan {
    stats::Design design;
    std::string primary;  ///< "workload/metric"
};

tl::unexpected<Error> broken(const store::EvaluationRow& evaluation, const std::string& why) {
    return tl::unexpected(
        Error{Fault::internal, "its stored experiment cannot be read: " + why, "evaluation " + evaluation.uid});
}

Result<Plan> read_plan(const store::EvaluationRow& evaluation) {
    const auto experiment = parse_json(evaluation.experiment_json);
    if (!experiment) return broken(evaluation, experiment.error().message);
    const auto decide = json_get<Json>(*experiment, "decide");
    if (!decide) return broken(evaluation, decide.error().message);
    const auto primary = json_get<std::string>(*decide, "primary");
    if (!primary) return broken(evaluation, primary.error().message);
    const auto margin = json_get<double>(*decide, "margin");
    if (!margin) return broken(evaluation, margin.error().message);
    const auto alpha = json_get<double>(*decide, "alpha");
    if (!alpha) return broken(evaluation, alpha.error().message);
    const auto looks = json_get<std::vector<int>>(*decide, "looks");
    if (!looks) return broken(evaluation, looks.error().message);
    const auto fixed = json_get_or<int>(*decide, "fixed", 0);
    if (!fixed) return broken(evaluation, fixed.error().message);
    Plan plan;
    plan.primary = *primary;
    plan.design.alpha = *alpha;
    plan.design.margin = *margin;
    plan.design.fixed = *fixed > 0;
    plan.design.looks = plan.design.fixed ? std::vector<int>{*fixed} : *looks;
    if (plan.design.looks.empty()) return broken(evaluation, "it has no looks");
    return plan;
}

Better better_of(const std::string& text) {
    if (text == "lower") return Better::lower;
    return text == "higher" ? Better::higher : Better::neither;
}

void add_arms(const store::EvaluationTree& tree, stats::Input& input) {
    std::map<std::string, int> index;
    for (const auto& arm : tree.arms) {
        stats::ArmInfo info;
        info.name = arm.name;
        info.control = arm.control;
        info.stopped = arm.status == "stopped" || arm.status == "failed";
        // An arm is listed after the one it is judged against.
        if (const auto found = index.find(arm.against); found != index.end()) info.against = found->second;
        index[arm.name] = static_cast<int>(input.arms.size());
        input.arms.push_back(info);
    }
    // Every finished boot, also those of excluded blocks: exclusion must not hide a fault.
    for (const auto& boot : tree.boots) {
        if (boot.status != "done" || (boot.outcome != "ok" && !kernel_fault(boot.outcome))) continue;
        auto& arm = input.arms[static_cast<std::size_t>(index.at(boot.arm))];
        ++arm.boots;
        if (kernel_fault(boot.outcome)) ++arm.failed;
    }
}

/// Series with a value somewhere, and the primary ones in any case; by workload, metric, point as declared.
std::map<SeriesKey, int> add_series(const store::EvaluationTree& tree, const std::vector<store::SampleRow>& samples,
                                    const std::string& primary, stats::Input& input) {
    std::set<SeriesKey> measured;
    for (const auto& sample : samples)
        if (sample.value && !sample.warmup) measured.insert({sample.workload, sample.point, sample.metric});
    std::map<SeriesKey, int> index;
    for (const auto& metric : tree.metrics) {
        for (const auto& point : tree.points) {
            if (point.workload != metric.workload) continue;
            const SeriesKey key{metric.workload, point.label, metric.name};
            stats::Series series;
            series.primary = metric.workload + "/" + metric.name == primary;
            if (!series.primary && !measured.contains(key)) continue;
            series.workload = metric.workload;
            series.point = point.label;
            series.metric = metric.name;
            series.unit = metric.unit;
            series.better = better_of(metric.better);
            series.scale = metric.scale == "linear" ? Scale::linear : Scale::log;
            index[key] = static_cast<int>(input.series.size());
            input.series.push_back(series);
        }
    }
    return index;
}

/// What must be the same in every boot that counts, or else the arms were not compared like with like.
std::vector<std::string> failed_gates(const std::vector<store::BootReport>& boots) {
    std::map<std::string, std::map<std::string, int>> seen;  // what -> value -> boots
    for (const auto& boot : boots) {
        if (boot.outcome != "ok" || boot.block_status != "complete") continue;
        ++seen["acceleration"][boot.accel];
        ++seen["emulator"][boot.emulator];
        const auto environment = parse_json(boot.environment);
        if (!environment) continue;
        for (const char* key : {"cpu_model", "clocksource", "cpus", "memory_bytes", "governor", "microcode"})
            if (const auto found = environment->find(key); found != environment->end())
                ++seen[key][found->is_string() ? found->get<std::string>() : dump_json(*found)];
    }
    std::vector<std::string> gates;
    for (const auto& [what, values] : seen) {
        if (values.size() < 2) continue;
        std::string text;
        for (const auto& [value, count] : values)
            text += fmt::format("{}{} in {} boots", text.empty() ? "" : ", ", value.empty() ? "none" : value, count);
        gates.push_back(fmt::format("the boots did not run under one {}: {}", what, text));
    }
    return gates;
}

/// Blocks that never came to count.
std::vector<int> lost_blocks(const store::EvaluationTree& tree) {
    std::set<int> excluded;
    for (const auto& block : tree.blocks)
        if (block.status == "excluded") excluded.insert(static_cast<int>(block.number));
    for (const auto& block : tree.blocks)
        if (block.status != "excluded") excluded.erase(static_cast<int>(block.number));
    return {excluded.begin(), excluded.end()};
}

}  // namespace

bool kernel_fault(const std::string& outcome) {
    return outcome == "boot-failure" || outcome == "kernel-crash" || outcome == "hang" || outcome == "workload-error";
}

Result<stats::Input> analysis_input(const store::EvaluationTree& tree, const std::vector<store::SampleRow>& samples,
                                    const std::vector<store::BootReport>& boots, int look) {
    const auto plan = read_plan(tree.evaluation);
    if (!plan) return pass(plan);
    if (look >= static_cast<int>(plan->design.looks.size()))
        return fail(Fault::internal, "evaluation {}: look {} is not one of the {} planned", tree.evaluation.uid, look,
                    plan->design.looks.size());
    stats::Input input;
    input.design = plan->design;
    input.look = look;
    add_arms(tree, input);
    const auto series = add_series(tree, samples, plan->primary, input);
    std::map<std::string, int> arms;
    for (std::size_t i = 0; i < input.arms.size(); ++i) arms[input.arms[i].name] = static_cast<int>(i);
    const auto last_block = look < 0 ? 0 : plan->design.looks[static_cast<std::size_t>(look)];
    for (const auto& sample : samples) {
        if (sample.warmup || !sample.value) continue;
        if (look >= 0 && sample.block > last_block) continue;
        const auto found = series.find({sample.workload, sample.point, sample.metric});
        if (found == series.end()) continue;
        input.observations.push_back({static_cast<int>(sample.block), arms.at(sample.arm), found->second,
                                      static_cast<int>(sample.iteration), *sample.value});
    }
    input.excluded_blocks = lost_blocks(tree);
    input.failed_gates = failed_gates(boots);
    return input;
}

Result<stats::Input> gather_analysis(const store::Store& store, const std::string& evaluation_uid, int look) {
    const auto tree = store.tree(evaluation_uid);
    if (!tree) return pass(tree);
    const auto samples = store.samples(evaluation_uid);
    if (!samples) return pass(samples);
    const auto boots = store.boots(evaluation_uid);
    if (!boots) return pass(boots);
    return analysis_input(*tree, *samples, *boots, look);
}

std::vector<store::ComparisonRow> to_comparison_rows(const stats::Input& input, const stats::Output& output, int look) {
    std::vector<store::ComparisonRow> rows;
    for (const auto& comparison : output.comparisons) {
        store::ComparisonRow row;
        row.look = look;
        row.n = comparison.n;
        row.arm = input.arms[static_cast<std::size_t>(comparison.arm)].name;
        row.against = input.arms[static_cast<std::size_t>(comparison.against)].name;
        row.workload = comparison.workload;
        row.point = comparison.series < 0 ? "*" : input.series[static_cast<std::size_t>(comparison.series)].point;
        row.metric = comparison.metric;
        row.primary = comparison.primary;
        row.material = comparison.material;
        row.fragile = comparison.fragile;
        if (comparison.estimate) {
            row.estimate = comparison.estimate->value;
            row.low = comparison.estimate->low;
            row.high = comparison.estimate->high;
            row.level = comparison.estimate->level;
            row.sd = comparison.sd;
            row.t = comparison.t;
            row.df = comparison.df;
        }
        row.p = comparison.p;
        row.p_adjusted = comparison.p_adjusted;
        row.p_rank = comparison.p_rank;
        row.p_equivalence = comparison.p_equivalence;
        row.detectable = comparison.detectable;
        row.verdict = stats::to_string(comparison.verdict);
        row.reason = comparison.reason;
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace kab::report
