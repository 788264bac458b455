#include "daemon/coordinator/submit.h"

#include <algorithm>

#include "common/digest/sha256.h"
#include "common/workload_catalog.h"
#include "daemon/spec/check.h"
#include "daemon/spec/experiment_json.h"

namespace kab {
namespace {

store::NewMetric metric_row(const WorkloadSpec& workload, const std::string& name) {
    const auto info = find_metric(workload, name);
    return {workload.workload, name, std::string(info.unit), to_string(info.better), to_string(info.scale)};
}

void add_metrics(const WorkloadSpec& workload, bool exact, std::vector<store::NewMetric>& metrics) {
    const auto add = [&](const std::string& name) {
        const auto row = metric_row(workload, name);
        const auto same = [&](const store::NewMetric& m) { return m.workload == row.workload && m.name == row.name; };
        if (std::none_of(metrics.begin(), metrics.end(), same)) metrics.push_back(row);
    };
    if (const auto* info = find_workload(workload.workload))
        for (const auto& metric : info->metrics) add(std::string(metric.name));
    if (exact)
        for (const auto& metric : exact_run_metrics()) add(std::string(metric.name));
    if (workload.profile) {
        for (const auto& group : workload.profile->groups) add(std::string(share_prefix) + group.name);
        for (const auto& metric : profile_run_metrics()) add(std::string(metric.name));
    }
    if (workload.counters.empty()) return;
    for (const auto& metric : counter_run_metrics()) add(std::string(metric.name));
    for (const auto& counter : workload.counters) add(counter);
}

bool needs_shell(const Experiment& experiment) {
    return std::any_of(experiment.workloads.begin(), experiment.workloads.end(), [](const WorkloadSpec& spec) {
        const auto* info = find_workload(spec.workload);
        return info != nullptr && info->needs_shell;
    });
}

}  // namespace

std::string point_label(const WorkloadSpec& workload, const Parameters& point) {
    std::string label;
    for (const auto& [name, values] : workload.sweep)
        label += (label.empty() ? "" : " ") + fmt::format("{}={}", name, point.at(name));
    return label;
}

store::NewEvaluation new_evaluation(const std::string& uid, const Submission& submission, const Plan& plan,
                                    const Json& experiment) {
    store::NewEvaluation row;
    row.uid = uid;
    row.experiment = plan.experiment.name;
    row.question = plan.experiment.question;
    row.spec_file = submission.file_name;
    row.spec_text = submission.spec_text;
    row.spec_hash = sha256_hex(submission.spec_text);
    row.plan_text = canonical_text(plan);
    row.experiment_json = dump_json(experiment);
    row.seed = plan.seed;
    row.idempotency_key = submission.idempotency_key;

    for (const auto& arm : plan.arms) {
        const auto& spec = plan.experiment.arms[static_cast<std::size_t>(arm.kernel_of)];
        for (const auto& json : experiment.at("arms"))
            if (json.at("name") == spec.name)
                row.arms.push_back({arm.name, arm.against, arm.control(), to_string(arm.role), dump_json(json)});
    }
    for (const auto& workload : plan.experiment.workloads) {
        std::int64_t number = 0;
        for (const auto& point : workload.points())
            row.points.push_back({workload.workload, number++, point_label(workload, point), dump_json(Json(point))});
        add_metrics(workload, plan.experiment.host.exact, row.metrics);
    }
    for (const auto& check : plan.experiment.checks)
        row.points.push_back({check.check, 0, "", dump_json(Json(check.with))});
    return row;
}

std::string plan_hash(const Plan& plan, const std::vector<std::string>& kernel_keys, const std::string& agent_hash,
                      const std::string& emulator, const std::string& shell_hash) {
    Sha256 hash;
    hash.field(canonical_text(plan)).field(agent_hash).field(emulator).field(KAB_VERSION);
    for (const auto& key : kernel_keys) hash.field(key);
    for (const auto& arm : plan.experiment.arms) hash.field(arm.kernel.command_line);
    if (needs_shell(plan.experiment)) hash.field(shell_hash);
    return hash.hex();
}

}  // namespace kab
