#include "common/score.h"
#include "common/workload_catalog.h"
#include "daemon/spec/check.h"
#include "daemon/spec/limits.h"
#include "daemon/spec/sections.h"

namespace kab {
namespace {

using yaml::Map;
using yaml::Value;

using namespace spec_limits;

std::vector<std::string> names_of(auto infos) {
    std::vector<std::string> names;
    for (const auto& info : infos) names.emplace_back(info.name);
    return names;
}

const ParameterInfo* find_parameter(const WorkloadInfo& info, std::string_view name) {
    for (const auto& parameter : info.parameters) {
        if (parameter.name == name) return &parameter;
    }
    return nullptr;
}

void read_sweep(const Map& workload, const WorkloadInfo& info, WorkloadSpec& spec) {
    workload.with("sweep", [&](const Value& value) {
        const Map map(value, names_of(info.parameters));
        std::int64_t points = 1;
        for (const yaml::Entry& entry : value.node().entries) {
            const ParameterInfo* parameter = find_parameter(info, entry.key);
            if (parameter == nullptr) continue;  // Map has told
            const auto list = map.get(entry.key);
            if (spec.with.contains(entry.key)) list->problem("is also under 'with': give it once");
            auto& values = spec.sweep[entry.key];
            for (const Value& item : list->list(1, static_cast<std::size_t>(most_points))) {
                if (const auto read = item.integer(parameter->least, parameter->most)) values.push_back(*read);
            }
            // At most most_points squared: no overflow.
            if (points <= most_points) points *= static_cast<std::int64_t>(std::max<std::size_t>(values.size(), 1));
        }
        if (points > most_points) value.problem("makes more than {} points", most_points);
    });
}

void read_counters(const Map& workload, WorkloadSpec& spec) {
    workload.with("counters", [&](const Value& value) {
        for (const Value& item : value.list(0, counters().size())) {
            if (auto name = item.one_of(names_of(counters()))) spec.counters.push_back(std::move(*name));
        }
    });
    workload.integer("counter_iterations", spec.counter_iterations, 1, most_iterations);
    if (const auto given = workload.get("counter_iterations"); given && !workload.has("counters")) {
        given->problem("needs 'counters'");
    }
    if (spec.counters.empty()) spec.counter_iterations = 0;
}

void read_score(const Map& workload, WorkloadSpec& spec) {
    workload.with("score", [&](const Value& value) {
        const auto word = value.text();
        if (!word) return;
        const auto score = parse_score(*word);
        if (!score) return value.problem("must be {}, not {}", score_rule, yaml::shown(*word));
        spec.quantile = score->quantile;
    });
}

bool is_check(const std::string& name) {
    const WorkloadInfo* info = find_workload(name);
    return info != nullptr && info->check;
}

bool read_workload(const Value& value, WorkloadSpec& spec) {
    const Map map(value, {"workload", "with", "sweep", "iterations", "warmup", "counters", "counter_iterations",
                          "profile", "score"});
    map.require("workload", yaml::advice("", catalog_names(false)));
    map.with("workload", [&](const Value& name) {
        if (const auto& word = name.node().written; is_check(word))
            return name.problem("is {}, which is a check: name it under 'checks'", word);
        if (auto read = name.one_of(catalog_names(false))) spec.workload = std::move(*read);
    });
    map.integer("iterations", spec.iterations, 1, most_iterations);
    map.integer("warmup", spec.warmup, 0, most_iterations);
    read_counters(map, spec);
    read_score(map, spec);
    read_profile(map, spec.profile);
    const WorkloadInfo* info = find_workload(spec.workload);
    if (info == nullptr) return false;  // parameters cannot be judged
    read_with(map, *info, spec.with);
    read_sweep(map, *info, spec);
    for (const auto& parameter : info->parameters) {
        const std::string name(parameter.name);
        if (!spec.sweep.contains(name)) spec.with.emplace(name, parameter.fallback);
    }
    return true;
}

}  // namespace

std::vector<std::string> catalog_names(bool checks) {
    std::vector<std::string> names;
    for (const auto& info : workloads())
        if (info.check == checks) names.emplace_back(info.name);
    return names;
}

void read_with(const Map& map, const WorkloadInfo& info, Parameters& with) {
    map.with("with", [&](const Value& value) {
        const Map values(value, names_of(info.parameters));
        for (const auto& parameter : info.parameters) {
            values.with(parameter.name, [&](const Value& one) {
                const auto read = one.integer(parameter.least, parameter.most);
                if (read) with[std::string(parameter.name)] = *read;
            });
        }
    });
}

void read_workloads(const yaml::Map& document, std::vector<WorkloadSpec>& specs) {
    document.require("workloads", "a list of what to run, such as [{workload: ipcns-exit}]");
    document.with("workloads", [&](const Value& value) {
        const bool had_problems = !value.problems().empty();
        std::int64_t runs = 0;
        for (const Value& item : value.list(1, most_workloads)) {
            WorkloadSpec spec;
            if (!read_workload(item, spec)) continue;
            for (const WorkloadSpec& earlier : specs) {
                if (earlier.workload != spec.workload) continue;
                item.problem("is {} again: name a workload once and vary it with 'sweep'", spec.workload);
            }
            runs += runs_per_boot(spec);
            specs.push_back(std::move(spec));
        }
        if (runs > most_runs_per_boot && !had_problems && value.problems().empty()) {
            value.problem("asks for {} runs a boot (points times iterations), at most {} are accepted", runs,
                          most_runs_per_boot);
        }
    });
}

}  // namespace kab
