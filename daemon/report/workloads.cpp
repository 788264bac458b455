#include "daemon/report/workloads.h"

#include <fmt/format.h>

#include "common/workload_catalog.h"

namespace kab::report {
namespace {

constexpr std::string_view meaning_of_zero = "0 means ";

/// "0 (all at once)" where the catalog says what 0 stands for.
std::string value_text(const ParameterInfo* parameter, std::int64_t value) {
    std::string text = std::to_string(value);
    if (value != 0 || parameter == nullptr) return text;
    const auto at = parameter->doc.find(meaning_of_zero);
    if (at == std::string_view::npos) return text;
    auto meaning = parameter->doc.substr(at + meaning_of_zero.size());
    meaning = meaning.substr(0, meaning.find_first_of(":;,"));
    return text + " (" + std::string(meaning) + ")";
}

const ParameterInfo* find_parameter(const std::string& workload, const std::string& name) {
    const auto* info = find_workload(workload);
    if (info == nullptr) return nullptr;
    for (const auto& parameter : info->parameters)
        if (parameter.name == name) return &parameter;
    return nullptr;
}

void append(std::string& list, const char* separator, const std::string& text) {
    list += (list.empty() ? "" : separator) + text;
}

/// Swept ones with all their values. A fixed 0 stands for "nothing special" and is left out.
std::string parameters(const Json& workload) {
    const auto name = workload.value("workload", "");
    std::string fixed, swept;
    const Json with = workload.value("with", Json::object()), sweep = workload.value("sweep", Json::object());
    for (const auto& [key, value] : with.items())
        if (const auto number = value.get<std::int64_t>(); number != 0)
            append(fixed, ", ", fmt::format("{} {}", key, number));
    for (const auto& [key, values] : sweep.items()) {
        std::string all;
        for (const auto& value : values)
            append(all, ", ", value_text(find_parameter(name, key), value.get<std::int64_t>()));
        append(swept, "; ", fmt::format("at {} {}", key, all));
    }
    if (!swept.empty()) append(fixed, "; ", swept);
    return fixed;
}

std::string iterations(const Json& workload) {
    const int timed = workload.value("iterations", 0), warmup = workload.value("warmup", 0);
    std::string text = fmt::format("{} timed iteration{}", timed, timed == 1 ? "" : "s");
    if (warmup > 0) text += fmt::format(" after {} warm-up{}", warmup, warmup == 1 ? "" : "s");
    if (const int counted = workload.value("counter_iterations", 0); counted > 0)
        text += fmt::format(", {} with counters", counted);
    const auto profile = workload.find("profile");
    if (profile != workload.end() && profile->is_object())
        text += fmt::format(", {} profiled", profile->value("iterations", 0));
    return text;
}

}  // namespace

std::vector<std::string> workload_texts(const ReportInput& report) {
    std::vector<std::string> texts;
    for (const auto& workload : report.experiment.value("workloads", Json::array())) {
        std::string text = workload.value("workload", "");
        if (const auto with = parameters(workload); !with.empty()) text += ", " + with;
        texts.push_back(text + "; " + iterations(workload));
    }
    return texts;
}

}  // namespace kab::report
