#include "daemon/report/gather.h"

#include "daemon/report/checks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "common/json.h"
#include "common/score.h"

namespace kab::report {
namespace {

using SeriesKey = std::tuple<std::string, std::string, std::string>;  ///< workload, point, metric

using Parameters = std::map<std::string, std::int64_t>;

struct Plan {
    stats::Design design;
    std::string primary;                      ///< "workload/metric"
    Parameters at;                            ///< the point of its sweep that decides; empty: the mean over all
    std::map<std::string, double> quantiles;  ///< workload -> of a boot's iterations; elsewhere their mean counts
};

tl::unexpected<Error> broken(const store::EvaluationRow& evaluation, const std::string& why) {
    return tl::unexpected(
        Error{Fault::internal, "its stored experiment cannot be read: " + why, "evaluation " + evaluation.uid});
}

/// The declared quantiles of the workloads; the error is what is wrong.
Result<std::map<std::string, double>> read_quantiles(const Json& experiment) {
    std::map<std::string, double> quantiles;
    const auto workloads = json_get_or<Json>(experiment, "workloads", Json::array());
    if (!workloads) return pass(workloads);
    for (const auto& one : *workloads) {
        const auto word = json_get_or<std::string>(one, "score", "mean");
        if (!word) return pass(word);
        const auto score = parse_score(*word);
        if (!score) return fail(Fault::internal, "score must be {}", score_rule);
        if (!score->quantile) continue;
        const auto name = json_get<std::string>(one, "workload");
        if (!name) return pass(name);
        quantiles[*name] = *score->quantile;
    }
    return quantiles;
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
    const auto at = json_get_or<Parameters>(*decide, "at", {});
    if (!at) return broken(evaluation, at.error().message);
    Plan plan;
    plan.primary = *primary;
    plan.at = *at;
    plan.design.alpha = *alpha;
    plan.design.margin = *margin;
    plan.design.fixed = *fixed > 0;
    plan.design.looks = plan.design.fixed ? std::vector<int>{*fixed} : *looks;
    const auto host = json_get_or<Json>(*experiment, "host", Json::object());
    const auto exact = host ? json_get_or<bool>(*host, "exact", false) : Result<bool>(pass(host));
    if (!exact) return broken(evaluation, exact.error().message);
    plan.design.exact = *exact;
    auto quantiles = read_quantiles(*experiment);
    if (!quantiles) return broken(evaluation, quantiles.error().message);
    plan.quantiles = std::move(*quantiles);
    if (plan.design.looks.empty()) return broken(evaluation, "it has no looks");
    return plan;
}

Better better_of(const std::string& text) {
    if (text == "lower") return Better::lower;
    return text == "higher" ? Better::higher : Better::neither;
}

/// Numbers of the blocks by row id.
std::map<std::int64_t, std::int64_t> block_numbers(const store::EvaluationTree& tree) {
    std::map<std::int64_t, std::int64_t> numbers;
    for (const auto& block : tree.blocks) numbers[block.id] = block.number;
    return numbers;
}

/// What befell a stopped arm last: block and outcome of its latest kernel fault.
struct LastFault {
    std::int64_t block = 0;
    std::string outcome;
};

std::map<std::string, LastFault> last_faults(const store::EvaluationTree& tree) {
    const auto numbers = block_numbers(tree);
    std::map<std::string, LastFault> faults;
    for (const auto& boot : tree.boots)
        if (boot.status == "done" && kernel_fault(boot.outcome) && numbers.at(boot.block_id) != check_block_number)
            faults[boot.arm] = {numbers.at(boot.block_id), boot.outcome};
    return faults;
}

std::string failing_words(const std::string& outcome) {
    if (outcome == "boot-failure") return "fails to boot";
    if (outcome == "kernel-crash") return "keeps crashing";
    return outcome == "hang" ? "keeps hanging" : "keeps failing in its workload";
}

/// Arms that failed their checks, or whose debug variants did.
std::set<std::string> wrong_arms(const store::EvaluationTree& tree) {
    const auto numbers = block_numbers(tree);
    std::set<std::string> wrong;
    for (const auto& boot : tree.boots)
        if (numbers.at(boot.block_id) == check_block_number && boot.status == "done" && kernel_fault(boot.outcome))
            wrong.insert(boot.arm.substr(0, boot.arm.find("'debug")));
    return wrong;
}

/// The arms as they stood when block `last` was complete. Debug variants, which are the last, are in no figure.
void add_arms(const store::EvaluationTree& tree, std::int64_t last, stats::Input& input) {
    std::map<std::string, int> index;
    auto faults = last_faults(tree);
    const auto wrong = wrong_arms(tree);
    for (const auto& arm : tree.arms) {
        if (arm.role == "debug") continue;
        stats::ArmInfo info;
        info.name = arm.name;
        info.control = arm.control;
        info.relinked = arm.role == "relinked";
        if (arm.status == "failed") {
            info.stopped = true;
            info.stopped_why = "could not be built";
        } else if (arm.status == "stopped" && wrong.contains(arm.control ? arm.against : arm.name)) {
            info.stopped = info.failed_checks = true;
            info.stopped_why = "failed its checks";
        } else if (arm.status == "stopped" && faults[arm.name].block <= last) {
            info.stopped = info.keeps_failing = true;
            info.stopped_why = failing_words(faults[arm.name].outcome);
        }
        // An arm is listed after the one it is judged against.
        if (const auto found = index.find(arm.against); found != index.end()) info.against = found->second;
        index[arm.name] = static_cast<int>(input.arms.size());
        input.arms.push_back(info);
    }
    // Every finished boot, also those of excluded blocks: exclusion must not hide a fault.
    const auto numbers = block_numbers(tree);
    for (const auto& boot : tree.boots) {
        if (numbers.at(boot.block_id) > last || numbers.at(boot.block_id) == check_block_number) continue;
        if (boot.status != "done" || (boot.outcome != "ok" && !kernel_fault(boot.outcome))) continue;
        auto& arm = input.arms[static_cast<std::size_t>(index.at(boot.arm))];
        ++arm.boots;
        if (kernel_fault(boot.outcome)) ++arm.failed;
    }
}

/// What an arm appends to the command line; empty when the stored experiment does not say.
std::string command_line(const Json& experiment, const std::string& arm) {
    const auto arms = experiment.find("arms");
    if (arms == experiment.end() || !arms->is_array()) return {};
    for (const auto& one : *arms) {
        const auto name = json_get_or<std::string>(one, "name", "");
        if (!name || *name != arm) continue;
        const auto kernel = one.find("kernel");
        const auto& holder = kernel != one.end() && kernel->is_object() ? *kernel : one;
        return json_get_or<std::string>(holder, "command_line", "").value_or("");
    }
    return {};
}

/// Marks the arms that boot the very code of the arm they are judged against.
void mark_same_code(const store::EvaluationTree& tree, const std::vector<store::KernelRow>& kernels,
                    stats::Input& input) {
    const auto experiment = parse_json(tree.evaluation.experiment_json);
    const auto kernel_of = [&](std::size_t arm) -> const store::KernelRow* {
        for (const auto& kernel : kernels)
            if (tree.arms[arm].kernel_id && kernel.id == *tree.arms[arm].kernel_id) return &kernel;
        return nullptr;
    };
    for (std::size_t a = 0; a < input.arms.size(); ++a) {
        auto& arm = input.arms[a];
        if (!arm.question() || arm.against < 0) continue;
        const auto *own = kernel_of(a), *other = kernel_of(static_cast<std::size_t>(arm.against));
        if (own == nullptr || other == nullptr || own->code_signature.empty()) continue;
        const auto& against = input.arms[static_cast<std::size_t>(arm.against)].name;
        arm.same_code = own->code_signature == other->code_signature && own->modules == other->modules &&
                        command_line(*experiment, arm.name) == command_line(*experiment, against);
    }
}

/// Whether it is the point that decides; each is where the mean does.
bool is_at(const store::NewPoint& point, const Parameters& at) {
    const auto parameters = parse_json(point.parameters);
    return std::all_of(at.begin(), at.end(), [&](const auto& wanted) {
        return parameters && parameters->value(wanted.first, Json()) == Json(wanted.second);
    });
}

/// Series with a value somewhere, and the primary ones in any case; by workload, metric, point as declared.
std::map<SeriesKey, int> add_series(const store::EvaluationTree& tree, const std::vector<store::SampleRow>& samples,
                                    const Plan& plan, std::int64_t last, stats::Input& input) {
    std::set<SeriesKey> measured;
    for (const auto& sample : samples)
        if (sample.value && !sample.warmup && sample.block <= last)
            measured.insert({sample.workload, sample.point, sample.metric});
    std::map<SeriesKey, int> index;
    for (const auto& metric : tree.metrics) {
        for (const auto& point : tree.points) {
            if (point.workload != metric.workload) continue;
            const SeriesKey key{metric.workload, point.label, metric.name};
            stats::Series series;
            series.primary = metric.workload + "/" + metric.name == plan.primary && is_at(point, plan.at);
            series.apart = !plan.at.empty() && plan.primary.starts_with(metric.workload + "/");
            if (!series.primary && !measured.contains(key)) continue;
            series.workload = metric.workload;
            series.point = point.label;
            series.metric = metric.name;
            series.unit = metric.unit;
            series.better = better_of(metric.better);
            series.scale = metric.scale == "linear" ? Scale::linear : Scale::log;
            if (const auto found = plan.quantiles.find(metric.workload); found != plan.quantiles.end())
                series.quantile = found->second;
            index[key] = static_cast<int>(input.series.size());
            input.series.push_back(series);
        }
    }
    return index;
}

/// The same for the same machine. tsc-early is the counter tsc before the kernel has looked at it for a second, which
/// it may or may not have when the agent says hello.
std::string machine_value(const Json& value) {
    if (!value.is_string()) return dump_json(value);
    const auto text = value.get<std::string>();
    return text == "tsc-early" ? "tsc" : text;
}

/// What must be the same in every boot that counts, or else the arms were not compared like with like.
std::vector<std::string> failed_gates(const std::vector<store::BootReport>& boots, std::int64_t last) {
    std::map<std::string, std::map<std::string, int>> seen;  // what -> value -> boots
    for (const auto& boot : boots) {
        if (boot.outcome != "ok" || boot.block_status != "complete" || boot.block > last) continue;
        if (boot.block == check_block_number) continue;
        ++seen["acceleration"][boot.accel];
        ++seen["emulator"][boot.emulator];
        const auto environment = parse_json(boot.environment);
        if (!environment) continue;
        for (const char* key : {"cpu_model", "clocksource", "cpus", "memory_bytes", "governor", "microcode", "agent",
                                "agent_sha256", "shell_sha256"})
            if (const auto found = environment->find(key); found != environment->end())
                ++seen[key][machine_value(*found)];
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
std::vector<int> lost_blocks(const store::EvaluationTree& tree, std::int64_t last) {
    std::set<int> excluded;
    for (const auto& block : tree.blocks)
        if (block.status == "excluded" && block.number <= last && block.number != check_block_number)
            excluded.insert(static_cast<int>(block.number));
    for (const auto& block : tree.blocks)
        if (block.status != "excluded") excluded.erase(static_cast<int>(block.number));
    return {excluded.begin(), excluded.end()};
}

}  // namespace

bool kernel_fault(const std::string& outcome) {
    return outcome == "boot-failure" || outcome == "kernel-crash" || outcome == "hang" || outcome == "workload-error";
}

Result<int> shown_look(const store::EvaluationTree& tree) {
    const int look = static_cast<int>(tree.evaluation.looks_done) - 1;
    if (look < 0 || tree.evaluation.status != "done") return look;
    const auto plan = read_plan(tree.evaluation);
    if (!plan) return pass(plan);
    if (look >= static_cast<int>(plan->design.looks.size())) return look;
    const int last = plan->design.looks[static_cast<std::size_t>(look)];
    auto faults = last_faults(tree);
    for (const auto& arm : tree.arms)
        if (arm.status == "stopped" && faults[arm.name].block > last) return -1;
    return look;
}

Result<stats::Input> analysis_input(const store::EvaluationTree& tree, const std::vector<store::KernelRow>& kernels,
                                    const std::vector<store::SampleRow>& samples,
                                    const std::vector<store::BootReport>& boots, int look) {
    const auto plan = read_plan(tree.evaluation);
    if (!plan) return pass(plan);
    if (look >= static_cast<int>(plan->design.looks.size()))
        return fail(Fault::internal, "evaluation {}: look {} is not one of the {} planned", tree.evaluation.uid, look,
                    plan->design.looks.size());
    stats::Input input;
    input.design = plan->design;
    input.look = look;
    const std::int64_t last = look < 0 ? std::numeric_limits<std::int64_t>::max()
                                       : std::int64_t{plan->design.looks[static_cast<std::size_t>(look)]};
    add_arms(tree, last, input);
    mark_same_code(tree, kernels, input);
    const auto series = add_series(tree, samples, *plan, last, input);
    std::map<std::string, int> arms;
    for (std::size_t i = 0; i < input.arms.size(); ++i) arms[input.arms[i].name] = static_cast<int>(i);
    for (const auto& sample : samples) {
        if (sample.warmup || !sample.value || sample.block > last) continue;
        const auto found = series.find({sample.workload, sample.point, sample.metric});
        if (found == series.end()) continue;
        input.observations.push_back({static_cast<int>(sample.block), arms.at(sample.arm), found->second,
                                      static_cast<int>(sample.iteration), *sample.value});
    }
    input.excluded_blocks = lost_blocks(tree, last);
    input.failed_gates = failed_gates(boots, last);
    return input;
}

Result<stats::Input> gather_analysis(const store::Store& store, const std::string& evaluation_uid, int look) {
    const auto tree = store.tree(evaluation_uid);
    if (!tree) return pass(tree);
    const auto kernels = store.kernels_of(evaluation_uid);
    if (!kernels) return pass(kernels);
    const auto samples = store.samples(evaluation_uid);
    if (!samples) return pass(samples);
    const auto boots = store.boots(evaluation_uid);
    if (!boots) return pass(boots);
    return analysis_input(*tree, *kernels, *samples, *boots, look);
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
            if (!comparison.exact) {
                row.t = comparison.t;
                row.df = comparison.df;
            }
        }
        if (comparison.rank_estimate) {
            row.rank_estimate = comparison.rank_estimate->value;
            row.rank_low = comparison.rank_estimate->low;
            row.rank_high = comparison.rank_estimate->high;
            row.rank_level = comparison.rank_estimate->level;
        }
        row.margin = comparison.margin;
        row.spent = comparison.spent;
        row.decided_at = comparison.decided_at;
        row.p_sequential = comparison.p_sequential;
        row.p = comparison.p;
        row.p_adjusted = comparison.p_adjusted;
        row.p_rank = comparison.p_rank;
        row.p_equivalence = comparison.p_equivalence;
        row.detectable = comparison.detectable;
        row.verdict = stats::to_string(comparison.verdict);
        row.reason = comparison.reason;
        row.sentence = comparison.sentence;
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace kab::report
