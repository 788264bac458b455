// checks and debug.
#include <algorithm>

#include "common/workload_catalog.h"
#include "daemon/spec/check.h"
#include "daemon/spec/limits.h"
#include "daemon/spec/sections.h"

namespace kab {
namespace {

using yaml::Map;
using yaml::Value;

using namespace spec_limits;

/// The fragment of the debug variants where the file does not say.
constexpr const char* default_fragment = "debug.config";

/// The catalog's entry of a check, or nothing after a problem.
const WorkloadInfo* read_name(const Value& value) {
    const WorkloadInfo* info = find_workload(value.node().written);
    if (info != nullptr && !info->check) {
        value.problem("is {}, which is no check: name it under 'workloads'", info->name);
        return nullptr;
    }
    const auto name = value.one_of(catalog_names(true));
    return name ? info : nullptr;
}

bool read_check(const Value& value, CheckSpec& spec) {
    const WorkloadInfo* info = nullptr;
    if (value.node().type == yaml::Type::map) {
        const Map map(value, {"check", "with", "only"});
        map.require("check", yaml::advice("", catalog_names(true)));
        map.with("check", [&](const Value& name) { info = read_name(name); });
        map.with("only", [&](const Value& only) { spec.debug_only = only.one_of({"debug"}).has_value(); });
        if (info != nullptr) read_with(map, *info, spec.with);
    } else {
        info = read_name(value);  // a plain name
    }
    if (info == nullptr) return false;
    spec.check = std::string(info->name);
    for (const auto& parameter : info->parameters) spec.with.emplace(std::string(parameter.name), parameter.fallback);
    return true;
}

void read_debug(const Map& document, const std::vector<Arm>& arms, const std::vector<CheckSpec>& checks,
                DebugSpec& debug, Places& places) {
    const bool any = document.has("checks");
    if (any) debug.config = {default_fragment};
    document.with("debug", [&](const Value& value) {
        if (!any) value.problem("needs 'checks', which run on the debug variants");
        if (value.node().type == yaml::Type::boolean) {
            if (value.boolean() != false) value.problem("must be false or a map: on is the default");
            debug = {};
            return;
        }
        const Map map(value, {"config", "patches"});
        map.with("config", [&](const Value& list) { debug.config = read_paths(list, places); });
        map.with("patches", [&](const Value& list) { debug.patches = read_paths(list, places); });
        if (map.is_map() && debug.empty()) value.problem("adds nothing: write 'debug: false' for no debug variants");
    });
    const auto unmet = std::find_if(checks.begin(), checks.end(), [](const CheckSpec& c) { return c.debug_only; });
    if (unmet == checks.end()) return;
    if (debug.empty())
        document.get("checks")->problem("has {} on debug variants only, and 'debug' is false", unmet->check);
    else if (!arms.empty() && std::none_of(arms.begin(), arms.end(), is_built))
        document.get("checks")->problem("has {}, which {}", unmet->check, images_have_no_variants);
}

}  // namespace

void read_checks(const Map& document, const std::vector<Arm>& arms, std::vector<CheckSpec>& checks, DebugSpec& debug,
                 Places& places) {
    document.with("checks", [&](const Value& value) {
        for (const Value& item : value.list(1, most_checks)) {
            CheckSpec spec;
            if (!read_check(item, spec)) continue;
            if (std::any_of(checks.begin(), checks.end(), [&](const auto& c) { return c.check == spec.check; }))
                item.problem("is {} again: name a check once", spec.check);
            else
                checks.push_back(std::move(spec));
        }
    });
    read_debug(document, arms, checks, debug, places);
}

}  // namespace kab
