// profile, of a workload.
#include "daemon/spec/check.h"
#include "daemon/spec/limits.h"
#include "daemon/spec/sections.h"

namespace kab {
namespace {

using yaml::Map;
using yaml::Value;

using namespace spec_limits;

std::vector<std::string> read_patterns(const Value& list) {
    std::vector<std::string> patterns;
    for (const Value& item : list.list(1, most_symbols)) {
        auto pattern = item.text(longest_symbol);
        if (!pattern) continue;
        if (!may_be_symbol(*pattern)) item.problem("is {}: {}", yaml::shown(*pattern), symbol_rule);
        patterns.push_back(std::move(*pattern));
    }
    return patterns;
}

void read_group(const Value& value, ProfileSpec::Group& group) {
    if (value.node().type == yaml::Type::list) {
        group.symbols = read_patterns(value);
        return;
    }
    if (value.node().type != yaml::Type::map)
        return value.problem("must be a list of symbols or a map of 'symbols', 'callers', 'better' and 'of', not {}",
                             yaml::describe(value.node()));
    const Map map(value, {"symbols", "callers", "better", "of"});
    map.require("symbols", "where the samples were taken, such as [_raw_spin_lock]");
    map.with("symbols", [&](const Value& list) { group.symbols = read_patterns(list); });
    map.with("callers", [&](const Value& list) { group.callers = read_patterns(list); });
    map.with("better", [&](const Value& word) {
        const auto better = word.one_of({"lower", "higher"});
        if (better) group.better = *better == "lower" ? Better::lower : Better::higher;
    });
    map.with("of", [&](const Value& word) { group.of_kernel = word.one_of({"all", "kernel"}) == "kernel"; });
}

void read_groups(const Value& value, std::vector<ProfileSpec::Group>& groups) {
    if (value.node().type != yaml::Type::map)
        return value.problem("must be a map of names to symbols, such as {{spinlock: [_raw_spin_lock]}}, not {}",
                             yaml::describe(value.node()));
    const auto& entries = value.node().entries;
    if (entries.size() > most_groups) value.problem("must have at most {} groups, not {}", most_groups, entries.size());
    for (const yaml::Entry& entry : entries) {
        if (!is_name(entry.key) || entry.key.size() > longest_group_name)
            value.problems().add(entry.place, "the group name {} is not accepted: use {}, at most {} of them",
                                 yaml::shown(entry.key), name_rule, longest_group_name);
        ProfileSpec::Group group{entry.key, {}, {}, Better::neither, false};
        read_group(Value(value.problems(), entry.value, value.path() + "." + entry.key), group);
        groups.push_back(std::move(group));
    }
}

}  // namespace

void read_profile(const yaml::Map& workload, std::optional<ProfileSpec>& profile) {
    workload.with("profile", [&](const Value& value) {
        profile.emplace();
        const Map map(value, {"frequency", "iterations", "groups"});
        map.integer("frequency", profile->frequency_hz, 1, most_frequency_hz);
        map.integer("iterations", profile->iterations, 1, most_iterations);
        map.with("groups", [&](const Value& groups) { read_groups(groups, profile->groups); });
    });
}

}  // namespace kab
