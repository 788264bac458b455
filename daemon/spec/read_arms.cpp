#include <algorithm>

#include "daemon/spec/check.h"
#include "daemon/spec/limits.h"
#include "daemon/spec/sections.h"

namespace kab {
namespace {

using yaml::Map;
using yaml::Value;

using namespace spec_limits;

const std::vector<std::string> source_kinds = {"tarball", "git", "dir", "image"};
const std::vector<std::string> kernel_keys = {"source", "base", "config", "patches", "command_line"};

/// What `kernel:` or one arm says; absent members are inherited.
struct KernelPart {
    std::optional<Source> source;
    std::optional<std::string> base, command_line;
    std::vector<std::string> config, patches;

    bool builds() const { return base || !config.empty() || !patches.empty(); }
};

std::optional<std::string> read_path(const Value& value, Places& places) {
    auto text = value.text(longest_path);
    if (text) places.emplace(*text, value.problems().where(value.node().place));
    return text;
}

class ArmReader {
  public:
    explicit ArmReader(Places& places) : places_(places) {}

    KernelPart read_part(const Map& map) {
        KernelPart part;
        map.with("source", [&](const Value& value) { part.source = read_source(value); });
        map.with("base", [&](const Value& value) { part.base = path(value); });
        map.with("config", [&](const Value& value) { part.config = paths(value); });
        map.with("patches", [&](const Value& value) { part.patches = paths(value); });
        map.with("command_line", [&](const Value& value) { part.command_line = command_line(value); });
        if (part.source && part.source->kind == Source::Kind::image && part.builds()) {
            map.value().problem("has an image, which is not built: base, config and patches have no meaning here");
        }
        return part;
    }

  private:
    /// A problem was told if the result's location is empty.
    Source read_source(const Value& value) {
        Source source;
        const Map map(value, {"tarball", "git", "dir", "image", "ref", "modules"});
        if (!map.is_map()) return source;
        std::vector<std::string> given;
        for (std::size_t i = 0; i < source_kinds.size(); ++i) {
            if (!map.has(source_kinds[i])) continue;
            given.push_back(source_kinds[i]);
            source.kind = static_cast<Source::Kind>(i);
        }
        if (given.size() != 1) {
            value.problem("must have exactly one of tarball, git, dir and image, not {}",
                          given.empty() ? "none" : fmt::format("both {} and {}", given[0], given[1]));
            return source;
        }
        source.location = path(*map.get(given[0])).value_or("");
        if (source.kind == Source::Kind::git) {
            source.ref = "HEAD";
            if (!may_be_repository(source.location)) {
                map.get("git")->problem("must be a path or a URL (https, ssh, git, file), not {}",
                                        yaml::shown(source.location));
                source.location.clear();
            }
        }
        map.with("ref", [&](const Value& ref) {
            if (source.kind != Source::Kind::git) ref.problem("belongs to a git source, not to {}", given[0]);
            source.ref = read_ref(ref);
        });
        map.with("modules", [&](const Value& modules) {
            if (source.kind != Source::Kind::image) modules.problem("belongs to an image, not to {}", given[0]);
            source.modules = path(modules);
        });
        return source;
    }

    static std::string read_ref(const Value& value) {
        const auto ref = value.text(longest_ref);
        if (!ref) return {};
        if (!may_be_ref(*ref)) {
            value.problem("is {}: a branch, tag or commit is accepted", yaml::shown(*ref));
        }
        return *ref;
    }

    std::optional<std::string> path(const Value& value) { return read_path(value, places_); }
    std::vector<std::string> paths(const Value& list) { return read_paths(list, places_); }

    static std::optional<std::string> command_line(const Value& value) {
        if (value.node().type == yaml::Type::text && value.node().written.empty()) return "";  // none, on purpose
        return value.text(longest_command_line);
    }

    Places& places_;
};

KernelSpec merge(const KernelPart& defaults, const KernelPart& own) {
    KernelSpec kernel;
    if (const auto& source = own.source ? own.source : defaults.source) kernel.source = *source;
    if (const auto& base = own.base ? own.base : defaults.base) kernel.base = *base;
    if (const auto& line = own.command_line ? own.command_line : defaults.command_line) kernel.command_line = *line;
    if (kernel.source.kind == Source::Kind::image) return kernel;  // defaults for building do not concern it
    kernel.config = defaults.config;
    kernel.config.insert(kernel.config.end(), own.config.begin(), own.config.end());
    kernel.patches = defaults.patches;
    kernel.patches.insert(kernel.patches.end(), own.patches.begin(), own.patches.end());
    return kernel;
}

void check_repeats(const Value& where, const char* key, const std::vector<std::string>& files) {
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (std::find(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(i), files[i]) !=
            files.begin() + static_cast<std::ptrdiff_t>(i)) {
            where.problem("has {} twice under {}: 'kernel.{}' comes before the arm's own", yaml::shown(files[i]), key,
                          key);
            return;
        }
    }
}

void check_kernel(const Value& where, const KernelPart& defaults, const KernelPart& own, const KernelSpec& kernel) {
    if (!own.source && !defaults.source) {
        where.problem("has no source: give 'source' here or under 'kernel'");
        return;
    }
    if (kernel.source.kind == Source::Kind::image && !own.source && own.builds()) {
        where.problem("inherits an image, which is not built: base, config and patches have no meaning here");
    }
    // A repeat within one list has been told already.
    if (!defaults.config.empty() && !own.config.empty()) check_repeats(where, "config", kernel.config);
    if (!defaults.patches.empty() && !own.patches.empty()) check_repeats(where, "patches", kernel.patches);
}

std::string read_against(const Map& map, const std::vector<Arm>& earlier) {
    const auto value = map.get("against");
    if (!value) return earlier.empty() ? "" : earlier.front().name;
    const auto name = value->text();
    if (!name) return {};
    std::vector<std::string> names;
    for (const Arm& arm : earlier) names.push_back(arm.name);
    if (names.empty()) {
        value->problem("is not accepted for the first arm: it is the baseline");
    } else if (std::find(names.begin(), names.end(), *name) == names.end()) {
        value->problem("is {}, which is no earlier arm: {}", yaml::shown(*name), yaml::advice(*name, names));
    }
    return *name;
}

void check_arm_name(const Value& arms, const yaml::Entry& entry) {
    if (entry.key == "A'") {
        arms.problems().add(entry.place, "the arm name A' is reserved for the control");
    } else if (!is_name(entry.key) || entry.key.size() > longest_arm_name) {
        arms.problems().add(entry.place, "the arm name {} is not accepted: use {}, at most {} of them",
                            yaml::shown(entry.key), name_rule, longest_arm_name);
    }
}

}  // namespace

std::vector<std::string> read_paths(const Value& list, Places& places) {
    std::vector<std::string> out;
    for (const Value& item : list.list(0, most_files)) {
        if (auto one = read_path(item, places)) out.push_back(std::move(*one));
    }
    return out;
}

void read_arms(const yaml::Map& document, std::vector<Arm>& arms, Places& places) {
    ArmReader reader(places);
    KernelPart defaults;
    document.with("kernel", [&](const Value& value) { defaults = reader.read_part(Map(value, kernel_keys)); });

    document.require("arms", "a map of two or more kernels to compare, the baseline first");
    const auto value = document.get("arms");
    if (!value) return;
    if (value->node().type != yaml::Type::map) {
        value->problem("must be a map of arm names to what differs, not {}", yaml::describe(value->node()));
        return;
    }
    const auto& entries = value->node().entries;
    if (entries.size() < least_arms || entries.size() > most_arms) {
        value->problem("must have {} to {} arms, not {}", least_arms, most_arms, entries.size());
    }
    std::vector<std::string> keys = kernel_keys;
    keys.push_back("against");
    for (const yaml::Entry& entry : entries) {
        check_arm_name(*value, entry);
        // "mainline:" with nothing after it means the same as "mainline: {}".
        const yaml::Node empty = yaml::empty_map(entry.place);
        const yaml::Node& node = entry.value.type == yaml::Type::null ? empty : entry.value;
        const Value arm_value(value->problems(), node, document.path_of("arms") + "." + entry.key);
        const Map map(arm_value, keys);
        const KernelPart own = reader.read_part(map);
        Arm arm{entry.key, merge(defaults, own), read_against(map, arms)};
        if (map.is_map()) check_kernel(arm_value, defaults, own, arm.kernel);
        arms.push_back(std::move(arm));
    }
}

}  // namespace kab
