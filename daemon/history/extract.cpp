#include "daemon/history/extract.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/json.h"
#include "common/units.h"

namespace kab::history {
namespace {

Json parsed(const std::string& text) {
    auto json = parse_json(text);
    return json && json->is_object() ? std::move(*json) : Json::object();
}

std::string text_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return {};
    return found->is_string() ? found->get<std::string>() : dump_json(*found);
}

/// Why nothing of the evaluation counts; empty when it does.
std::string unusable(const Record& record) {
    const auto& evaluation = record.tree.evaluation;
    if (evaluation.status != "done")
        return evaluation.detail.empty() ? evaluation.status : evaluation.status + ": " + evaluation.detail;
    if (evaluation.verdict != "invalid") return {};
    for (const auto& row : record.comparisons)
        if (row.verdict == "invalid" && !row.reason.empty()) return "invalid: " + row.reason;
    return "invalid";
}

std::string command_line(const Json& experiment, const std::string& arm) {
    const auto arms = experiment.find("arms");
    if (arms == experiment.end() || !arms->is_array()) return {};
    for (const auto& one : *arms)
        if (one.is_object() && text_of(one, "name") == arm) return text_of(one, "command_line");
    return {};
}

Kernel kernel_of(const Record& record, const Json& experiment, const std::string& arm) {
    Kernel kernel;
    kernel.command_line = command_line(experiment, arm);
    const auto found = std::find_if(record.tree.arms.begin(), record.tree.arms.end(),
                                    [&](const store::ArmRow& row) { return row.name == arm; });
    if (found == record.tree.arms.end() || !found->kernel_id) return kernel;
    for (const auto& row : record.kernels) {
        if (row.id != *found->kernel_id) continue;
        kernel.key = row.key;
        kernel.image_hash = row.image_hash;
        kernel.code_signature = row.code_signature;
        kernel.modules = row.modules;
        kernel.path = row.path;
        kernel.base_commit = row.base_commit;
        kernel.release = row.release;
    }
    return kernel;
}

/// The first boot that counts speaks for all: one that ran on another machine makes an evaluation invalid.
const store::BootReport* speaking_boot(const Record& record) {
    for (const auto& boot : record.boots)
        if (boot.outcome == "ok" && boot.block_status == "complete" && boot.block > 0) return &boot;
    return nullptr;
}

/// Exact mode with what varies there from block to block; empty without it.
std::string exact_text(const Json& host) {
    const auto is = [&](const char* key) { return json_get_or<bool>(host, key, false).value_or(false); };
    if (!is("exact")) return {};
    if (is("vary_timer") && is("vary_layout")) return "exact mode (timer and layout vary)";
    if (is("vary_timer")) return "exact mode (timer varies)";
    return is("vary_layout") ? "exact mode (layout varies)" : "exact mode (nothing varies)";
}

/// By what a boot's iterations are judged; empty where it is their mean.
std::string score_of(const Question& question, const Json& experiment) {
    const auto workloads = experiment.find("workloads");
    if (workloads == experiment.end() || !workloads->is_array()) return {};
    for (const auto& one : *workloads)
        if (one.is_object() && text_of(one, "workload") == question.workload) return text_of(one, "score");
    return {};
}

/// What must be the same for values to be of one series.
void describe(const Question& question, const Record& record, const Json& experiment, Extracted& out) {
    std::string machine;
    const auto add = [&](const std::string& what) {
        if (!what.empty()) machine += (machine.empty() ? "" : ", ") + what;
    };
    if (const auto* boot = speaking_boot(record); boot != nullptr) {
        const auto environment = parsed(boot->environment);
        out.emulated = boot->accel == "tcg";
        add("host " + boot->host);
        add(boot->accel == "tcg" ? "emulated (tcg)" : boot->accel);
        add(boot->machine);
        add(text_of(environment, "cpu_model"));
        out.value.surroundings = {{"emulator", boot->emulator}};
        for (const char* key : {"clocksource", "governor", "microcode", "mitigations", "lock_kind"})
            out.value.surroundings[key] = text_of(environment, key);
    }
    if (const auto host = experiment.find("host"); host != experiment.end() && host->is_object()) {
        if (const auto cpus = json_get_or<int>(*host, "cpus", 0).value_or(0); cpus > 0)
            add(fmt::format("{} CPU{}", cpus, cpus == 1 ? "" : "s"));
        if (const auto bytes = json_get_or<std::int64_t>(*host, "memory_bytes", 0).value_or(0); bytes > 0)
            add(format_bytes(bytes));
        add(exact_text(*host));
    }
    std::string points;
    for (const auto& point : record.tree.points) {
        if (point.workload != question.workload) continue;
        if (question.point != "*" && point.label != question.point) continue;
        const auto parameters = parsed(point.parameters);
        for (const auto& [name, value] : parameters.items())
            points += fmt::format("{}{}={}", points.empty() ? "" : " ", name, dump_json(value));
    }
    if (const auto score = score_of(question, experiment); !score.empty())
        points += (points.empty() ? "score=" : " score=") + score;
    if (share_of_kernel(experiment, question.workload, question.metric))
        points += points.empty() ? "of=kernel" : " of=kernel";
    if (!points.empty()) machine += "; " + points;
    out.setting = machine;
}

bool read_figures(const store::ComparisonRow& row, Extracted& out) {
    const auto on_scale = [&](double value) { return out.scale == Scale::log ? std::log(value) : value; };
    if (!row.estimate || !std::isfinite(on_scale(*row.estimate))) return false;
    out.value.estimate = on_scale(*row.estimate);
    if (row.low && row.high && std::isfinite(on_scale(*row.low)) && std::isfinite(on_scale(*row.high))) {
        out.value.low = on_scale(*row.low);
        out.value.high = on_scale(*row.high);
    }
    out.value.level = row.level.value_or(0);
    out.value.n = row.n;
    out.value.verdict = row.verdict;
    return true;
}

Extracted of_row(const Question& question, const Record& record, const store::ComparisonRow& row) {
    const auto experiment = parsed(record.tree.evaluation.experiment_json);
    Extracted out;
    out.against = row.against;
    for (const auto& metric : record.tree.metrics) {
        if (metric.workload != question.workload || metric.name != question.metric) continue;
        out.unit = metric.unit;
        out.scale = metric.scale == "linear" ? Scale::linear : Scale::log;
        out.better = metric.better == "lower"    ? Better::lower
                     : metric.better == "higher" ? Better::higher
                                                 : Better::neither;
    }
    out.value.evaluation = record.tree.evaluation.uid;
    out.value.at = record.tree.evaluation.finished_at.value_or(0);
    out.value.base = kernel_of(record, experiment, row.against);
    out.value.arm = kernel_of(record, experiment, row.arm);
    describe(question, record, experiment, out);
    return out;
}

bool on_metric(const Question& question, const store::ComparisonRow& row) {
    return row.workload == question.workload && row.metric == question.metric && row.point == question.point;
}

/// Those of the list `key`; none where there is no such list.
std::vector<Json> objects_of(const Json& object, const char* key) {
    std::vector<Json> found;
    const auto list = object.find(key);
    if (list == object.end() || !list->is_array()) return found;
    std::copy_if(list->begin(), list->end(), std::back_inserter(found),
                 [](const Json& one) { return one.is_object(); });
    return found;
}

}  // namespace

bool share_of_kernel(const Json& experiment, const std::string& workload, const std::string& metric) {
    static const std::string share = "share:";
    if (!experiment.is_object() || metric.rfind(share, 0) != 0) return false;
    for (const auto& one : objects_of(experiment, "workloads")) {
        const auto profile = one.find("profile");
        if (text_of(one, "workload") != workload || profile == one.end() || !profile->is_object()) continue;
        for (const auto& group : objects_of(*profile, "groups"))
            if (text_of(group, "name") == metric.substr(share.size())) return text_of(group, "of") == "kernel";
    }
    return false;
}

std::variant<Extracted, std::string> extract(const Question& question, const Record& record) {
    if (auto why = unusable(record); !why.empty()) return why;
    const auto arm = std::find_if(record.tree.arms.begin(), record.tree.arms.end(),
                                  [&](const store::ArmRow& row) { return row.name == question.arm; });
    if (arm == record.tree.arms.end() && !question.arm.empty()) return "it has no arm " + question.arm;
    if (record.comparisons.empty()) return std::string("it ended before its first look");
    for (const auto& row : record.comparisons) {
        if (row.arm != question.arm || !on_metric(question, row)) continue;
        if (row.verdict == "invalid") return row.reason.empty() ? std::string("invalid") : "invalid: " + row.reason;
        auto out = of_row(question, record, row);
        if (read_figures(row, out)) return out;
        return row.reason.empty() ? std::string("it has no estimate") : "no estimate: " + row.reason;
    }
    return fmt::format("it does not compare {}/{}{}", question.workload, question.metric,
                       question.point.empty()  ? ""
                       : question.point == "*" ? " over its points"
                                               : " at " + question.point);
}

std::vector<Extracted> comparisons_of(const Question& question, const Record& record) {
    std::vector<Extracted> found;
    if (!unusable(record).empty()) return found;
    for (const auto& row : record.comparisons) {
        if (!on_metric(question, row) || row.verdict == "invalid") continue;
        auto out = of_row(question, record, row);
        if (read_figures(row, out)) found.push_back(std::move(out));
    }
    return found;
}

}  // namespace kab::history
