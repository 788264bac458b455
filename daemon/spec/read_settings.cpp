// host, decide and limits.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "common/units.h"
#include "common/workload_catalog.h"
#include "daemon/spec/check.h"
#include "daemon/spec/limits.h"
#include "daemon/spec/sections.h"

namespace kab {
namespace {

using yaml::Map;
using yaml::Value;

using namespace spec_limits;

/// The metric `primary` names, or nothing after a problem.
std::optional<MetricInfo> check_primary(const Value& value, const std::string& primary,
                                        const std::vector<WorkloadSpec>& specs, bool exact) {
    const auto slash = primary.find('/');
    const std::string workload = primary.substr(0, slash);
    const std::string metric = slash == std::string::npos ? "" : primary.substr(slash + 1);
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const WorkloadSpec& s) { return s.workload == workload; });
    const auto accepted = possible_primaries(specs, exact);
    if (std::find(accepted.begin(), accepted.end(), primary) != accepted.end()) return find_metric(specs, primary);
    if (specs.empty()) return std::nullopt;  // no workload could be read, which has been told
    if (spec != specs.end() && metric.starts_with(share_prefix)) {
        value.problem("is {}, which is no group of the workload's 'profile': {}", yaml::shown(primary),
                      yaml::advice(primary, accepted));
    } else if (const auto timed = possible_primaries(specs, false);
               exact && std::find(timed.begin(), timed.end(), primary) != timed.end()) {
        value.problem("is {}, which is read from a clock of ticks and absent with 'host.exact': take '{}/busy'",
                      yaml::shown(primary), workload);
    } else if (spec != specs.end() && is_exact_metric(metric)) {
        value.problem("is {}, which only 'host.exact' can measure", yaml::shown(primary));
    } else if (spec != specs.end() && !find_metric(workload, metric).name.empty()) {
        value.problem("is {}, which is counted only if 'counters' asks for it", yaml::shown(primary));
    } else {
        value.problem("is {}: {}", yaml::shown(primary), yaml::advice(primary, accepted));
    }
    return std::nullopt;
}

void read_primary_and_margin(const Map& map, const std::vector<WorkloadSpec>& specs, bool exact, Decide& decide) {
    if (exact) decide.margin = 0;
    if (!specs.empty()) decide.primary = possible_primaries(specs, exact).front();
    bool linear = false;
    map.with("primary", [&](const Value& value) {
        const auto primary = value.text();
        if (!primary) return;
        decide.primary = *primary;
        const auto metric = check_primary(value, *primary, specs, exact);
        if (metric && metric->better == Better::neither)
            value.problem("is {}: {}", yaml::shown(*primary), direction_rule);
        linear = metric && metric->scale == Scale::linear;
        if (linear && !map.has("margin") && !exact) {
            value.problem("is compared by difference: give 'decide.margin' in its unit");
        }
    });
    map.with("margin", [&](const Value& value) {
        // Only in exact mode is a difference without any variation: there 0 is what the verdicts can live with.
        const auto zero = exact ? yaml::Least::included : yaml::Least::excluded;
        const auto margin = linear ? value.number(0, most_linear_margin, zero) : value.share(0, most_margin, zero);
        if (margin) decide.margin = *margin;
    });
}

/// The point of the primary's sweep that decides: a value of each parameter that is swept.
void read_at(const Value& value, const std::vector<WorkloadSpec>& specs, Decide& decide) {
    const auto workload = decide.primary.substr(0, decide.primary.find('/'));
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const WorkloadSpec& one) { return one.workload == workload; });
    if (spec == specs.end()) return;  // decide.primary has told
    if (spec->sweep.empty()) return value.problem("names a point, but {} has no 'sweep'", yaml::shown(workload));
    std::vector<std::string> swept;
    for (const auto& [name, values] : spec->sweep) swept.push_back(name);
    const Map map(value, swept);
    for (const auto& [name, values] : spec->sweep) {
        const auto given = map.get(name);
        if (!given && !map.is_map()) continue;  // told already
        if (!given) {
            value.problem("lacks {}: name one point of the sweep, or leave 'at' out for the mean over all", name);
            continue;
        }
        const auto number =
            given->integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
        if (!number) continue;
        if (std::find(values.begin(), values.end(), *number) == values.end())
            given->problem("is {}, which is none of the swept: {}", *number, fmt::join(values, ", "));
        decide.at[name] = *number;
    }
}

/// Exact mode: what stands where it cannot, and what follows.
void read_exact(const Map& map, HostSpec& host) {
    map.boolean("exact", host.exact);
    map.with("vary", [&](const Value& value) {
        if (!host.exact) return value.problem("belongs to 'host.exact', which is not on");
        host.vary_timer = host.vary_layout = false;
        for (const Value& item : value.list(0, 2)) {
            const auto what = item.one_of({"timer", "layout"});
            host.vary_timer |= what == "timer";
            host.vary_layout |= what == "layout";
        }
    });
    if (!host.exact) return;
    if (!map.has("cpus")) host.cpus = 1;
    if (host.cpus != 1) map.get("cpus")->problem("must be 1 with 'host.exact', not {}", host.cpus);
    if (host.accel == HostSpec::Accel::kvm)
        map.get("accel")->problem("must be tcg with 'host.exact': only an emulator counts instructions");
    host.accel = HostSpec::Accel::tcg;
}

void read_control(const Value& value, const std::vector<Arm>& arms, Decide& decide) {
    const auto& node = value.node();
    decide.relink = node.type == yaml::Type::text && node.written == "relink";
    if (node.type == yaml::Type::boolean)
        decide.control = node.scalar.get<bool>();
    else if (!decide.relink)
        value.problem("must be true, false or relink, not {}", yaml::describe(node));
    if (decide.relink && !arms.empty() && arms.front().kernel.source.kind == Source::Kind::image)
        value.problem("is relink, but the baseline is a built image, whose code cannot be moved");
}

void read_looks(const Value& value, Decide& decide) {
    std::vector<int> looks;
    bool usable = true;
    for (const Value& item : value.list(1, most_looks)) {
        const auto look = item.integer(least_blocks, most_blocks);
        if (!look) {
            usable = false;
            continue;
        }
        if (usable && !looks.empty() && *look < looks.back()) {
            item.problem("is {} after {}: looks must ascend", *look, looks.back());
            usable = false;
        }
        looks.push_back(static_cast<int>(*look));
    }
    if (usable && !looks.empty()) decide.looks = std::move(looks);
}

}  // namespace

void read_host(const yaml::Map& document, HostSpec& host) {
    document.with("host", [&](const Value& section) {
        const Map map(section, {"kind", "cpus", "memory", "accel", "machine", "exact", "vary"});
        map.with("kind", [&](const Value& value) {
            if (auto kind = value.one_of({"qemu"})) host.kind = std::move(*kind);
        });
        map.integer("cpus", host.cpus, 1, most_cpus);
        map.with("memory", [&](const Value& value) {
            if (const auto memory = value.bytes(least_memory, most_memory)) host.memory_bytes = *memory;
        });
        map.with("accel", [&](const Value& value) {
            const auto accel = value.one_of({"auto", "kvm", "tcg"});
            if (accel == "kvm") host.accel = HostSpec::Accel::kvm;
            if (accel == "tcg") host.accel = HostSpec::Accel::tcg;
        });
        map.with("machine", [&](const Value& value) {
            const auto machine = value.one_of({"auto", "microvm", "q35"});
            if (machine == "microvm") host.machine = HostSpec::Machine::microvm;
            if (machine == "q35") host.machine = HostSpec::Machine::q35;
        });
        read_exact(map, host);
    });
}

void read_decide(const yaml::Map& document, Experiment& experiment) {
    const auto& host = experiment.host;
    Decide& decide = experiment.decide;
    const yaml::Node nothing = yaml::empty_map(document.value().node().place);
    const Value absent(document.value().problems(), nothing, "decide");
    const auto given = document.get("decide");
    const Map map(given ? *given : absent, {"primary", "at", "margin", "alpha", "looks", "fixed", "control", "seed"});
    read_primary_and_margin(map, experiment.workloads, host.exact, decide);
    map.with("at", [&](const Value& value) { read_at(value, experiment.workloads, decide); });
    if (host.exact) decide.looks = {std::begin(exact_looks), std::end(exact_looks)};
    if (host.exact && !host.vary_timer && !host.vary_layout) decide.looks = {least_blocks};
    map.with("alpha", [&](const Value& value) {
        if (const auto alpha = value.share(least_alpha, most_alpha)) decide.alpha = *alpha;
    });
    map.with("looks", [&](const Value& value) { read_looks(value, decide); });
    map.with("fixed", [&](const Value& value) {
        if (map.has("looks")) value.problem("is given beside 'decide.looks': give one of them");
        if (const auto fixed = value.integer(least_blocks, most_blocks)) {
            decide.fixed = static_cast<int>(*fixed);
            decide.looks = {*decide.fixed};
        }
    });
    map.with("control", [&](const Value& value) { read_control(value, experiment.arms, decide); });
    map.with("seed", [&](const Value& value) { decide.seed = value.unsigned_integer(); });
}

void read_limits(const yaml::Map& document, Limits& limits) {
    document.with("limits", [&](const Value& section) {
        const Map map(section, {"boot", "run", "block", "evaluation", "build"});
        map.duration("boot", limits.boot, least_limit, most_limit);
        map.duration("run", limits.run, least_limit, most_limit);
        map.duration("block", limits.block, least_limit, most_limit);
        map.duration("evaluation", limits.evaluation, least_limit, most_limit);
        map.duration("build", limits.build, least_limit, most_limit);
        // The outer one, where it is given, bounds the default of the inner.
        if (!map.has("block")) limits.block = std::min(limits.block, limits.evaluation);
        if (!map.has("boot")) limits.boot = std::min(limits.boot, limits.block);
        const auto at_most = [&](const char* inner, Nanoseconds inner_limit, const char* outer,
                                 Nanoseconds outer_limit) {
            if (inner_limit <= outer_limit) return;
            map.get(inner)->problem("is longer than 'limits.{}', which is {}", outer, format_duration(outer_limit));
        };
        at_most("boot", limits.boot, "block", limits.block);
        at_most("block", limits.block, "evaluation", limits.evaluation);
    });
}

}  // namespace kab
