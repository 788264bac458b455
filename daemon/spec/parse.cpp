#include "daemon/spec/parse.h"

#include "daemon/spec/check.h"
#include "daemon/spec/limits.h"
#include "daemon/spec/sections.h"

namespace kab {
namespace {

using yaml::Map;
using yaml::Value;

using namespace spec_limits;

void read_document(const Map& document, ParsedSpec& spec) {
    Experiment& experiment = spec.experiment;
    document.require("experiment", "a short name such as ipc-ns-deferred-free");
    document.with("experiment", [&](const Value& value) {
        const auto name = value.text(longest_name);
        if (!name) return;
        if (!is_name(*name)) value.problem("is {}: use {}", yaml::shown(*name), name_rule);
        experiment.name = *name;
    });
    document.text("question", experiment.question, longest_question);
    read_arms(document, experiment.arms, spec.places);
    read_workloads(document, experiment.workloads);
    read_checks(document, experiment.arms, experiment.checks, experiment.debug, spec.places);
    read_host(document, experiment.host);
    read_decide(document, experiment);
    read_exclude(document, experiment.host, experiment.exclude);
    read_limits(document, experiment.limits);
}

}  // namespace

tl::expected<ParsedSpec, std::vector<Error>> parse_experiment(std::string_view text, std::string_view file_name,
                                                              ParsedSpec* partial) {
    yaml::Problems problems(file_name);
    yaml::Node root;
    if (!yaml::load(text, problems, root)) return tl::unexpected(problems.errors());
    if (root.type == yaml::Type::null) {
        problems.add({}, "the file is empty");
        return tl::unexpected(problems.errors());
    }
    ParsedSpec spec;
    const Map document(Value(problems, root, ""), {"experiment", "question", "kernel", "arms", "workloads", "checks",
                                                   "debug", "host", "exclude", "decide", "limits"});
    if (document.is_map()) read_document(document, spec);
    if (!problems.empty()) {
        if (partial != nullptr) *partial = std::move(spec);
        return tl::unexpected(problems.errors());
    }
    spec.exported = yaml::to_json(root);
    return spec;
}

tl::expected<Json, std::vector<Error>> export_yaml(std::string_view text, std::string_view file_name) {
    yaml::Problems problems(file_name);
    yaml::Node root;
    if (!yaml::load(text, problems, root) || !problems.empty()) return tl::unexpected(problems.errors());
    return yaml::to_json(root);
}

}  // namespace kab
