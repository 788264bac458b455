#include "daemon/spec/check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "common/score.h"
#include "common/units.h"
#include "common/workload_catalog.h"
#include "daemon/spec/limits.h"
#include "daemon/spec/text_check.h"
#include "daemon/spec/yaml.h"

namespace kab {
namespace {

using namespace spec_limits;

template <class... Args>
Status refuse(const std::string& where, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Error{Fault::spec, fmt::format(format, std::forward<Args>(args)...), where});
}

template <class T>
Status within(const std::string& where, const T& value, const T& least, const T& most) {
    if (value >= least && value <= most) return {};
    return refuse(where, "must be from {} to {}, not {}", least, most, value);
}

Status one_line(const std::string& where, const std::string& text, std::size_t longest) {
    if (text.size() > longest) return refuse(where, "has {} bytes, at most {} are accepted", text.size(), longest);
    if (!yaml::is_plain_line(text)) return refuse(where, "must be one line without control characters");
    return {};
}

Status path(const std::string& where, const std::string& text) {
    if (text.empty()) return refuse(where, "must not be empty");
    return one_line(where, text, longest_path);
}

Status paths(const std::string& where, const std::vector<std::string>& texts) {
    if (texts.size() > most_files) return refuse(where, "must have at most {} items, not {}", most_files, texts.size());
    for (const auto& text : texts)
        if (auto checked = path(where, text); !checked) return checked;
    return {};
}

Status check_kernel(const std::string& where, const KernelSpec& kernel) {
    const bool image = kernel.source.kind == Source::Kind::image;
    if (auto checked = path(where + ".source", kernel.source.location); !checked) return checked;
    if (kernel.source.kind == Source::Kind::git) {
        if (auto checked = one_line(where + ".source.ref", kernel.source.ref, longest_ref); !checked) return checked;
        if (!may_be_ref(kernel.source.ref)) return refuse(where + ".source.ref", "must be a branch, tag or commit");
        if (!may_be_repository(kernel.source.location))
            return refuse(where + ".source.git", "must be a path or a URL (https, ssh, git, file)");
    }
    if (kernel.source.modules) {
        if (!image) return refuse(where + ".source.modules", "belongs to an image");
        if (auto checked = path(where + ".source.modules", *kernel.source.modules); !checked) return checked;
    }
    if (image && (!kernel.config.empty() || !kernel.patches.empty()))
        return refuse(where, "has an image, which is not built: config and patches have no meaning here");
    if (auto checked = path(where + ".base", kernel.base); !checked) return checked;
    if (auto checked = paths(where + ".config", kernel.config); !checked) return checked;
    if (auto checked = paths(where + ".patches", kernel.patches); !checked) return checked;
    return one_line(where + ".command_line", kernel.command_line, longest_command_line);
}

Status check_arms(const std::vector<Arm>& arms) {
    if (auto checked = within("arms", arms.size(), least_arms, most_arms); !checked) return checked;
    for (std::size_t i = 0; i < arms.size(); ++i) {
        const Arm& arm = arms[i];
        if (!is_name(arm.name) || arm.name.size() > longest_arm_name)
            return refuse("arms", "the name of arm {} is not accepted: use {}, at most {} of them", i + 1, name_rule,
                          longest_arm_name);
        const std::string where = "arms." + arm.name;
        const auto end = arms.begin() + static_cast<std::ptrdiff_t>(i);
        const auto named = [&](const std::string& name) {
            return std::any_of(arms.begin(), end, [&](const Arm& earlier) { return earlier.name == name; });
        };
        if (named(arm.name)) return refuse(where, "is there twice");
        if (i == 0 && !arm.against.empty()) return refuse(where + ".against", "is not accepted: it is the baseline");
        if (i > 0 && !named(arm.against)) return refuse(where + ".against", "must be an earlier arm");
        if (auto checked = check_kernel(where, arm.kernel); !checked) return checked;
    }
    return {};
}

/// Each parameter of the workload once, fixed or swept, in its range.
Status check_parameters(const std::string& where, const WorkloadInfo& info, const WorkloadSpec& spec) {
    std::int64_t points = 1;
    for (const auto& parameter : info.parameters) {
        const std::string name(parameter.name);
        const auto fixed = spec.with.find(name);
        const auto swept = spec.sweep.find(name);
        if ((fixed == spec.with.end()) == (swept == spec.sweep.end()))
            return refuse(where, "must have {} once, under 'with' or 'sweep'", name);
        std::vector<std::int64_t> values;
        if (fixed != spec.with.end()) values = {fixed->second};
        if (swept != spec.sweep.end()) values = swept->second;
        if (auto checked = within<std::int64_t>(where + ".sweep." + name, std::ssize(values), 1, most_points); !checked)
            return checked;
        for (const auto value : values)
            if (auto checked = within(where + "." + name, value, parameter.least, parameter.most); !checked)
                return checked;
        std::sort(values.begin(), values.end());
        if (std::adjacent_find(values.begin(), values.end()) != values.end())
            return refuse(where + ".sweep." + name, "has a value twice");
        if (points <= most_points) points *= std::ssize(values);
    }
    if (spec.with.size() + spec.sweep.size() != info.parameters.size())
        return refuse(where, "has a parameter that {} does not know", info.name);
    if (points > most_points) return refuse(where + ".sweep", "makes more than {} points", most_points);
    return {};
}

Status check_symbols(const std::string& where, const std::vector<std::string>& symbols, std::size_t least) {
    if (auto checked = within(where, symbols.size(), least, most_symbols); !checked) return checked;
    for (const auto& symbol : symbols) {
        if (symbol.size() > longest_symbol || !may_be_symbol(symbol))
            return refuse(where, "has {}: {}", yaml::shown(symbol), symbol_rule);
        if (std::count(symbols.begin(), symbols.end(), symbol) > 1) return refuse(where, "has {} twice", symbol);
    }
    return {};
}

Status check_profile(const std::string& where, const std::optional<ProfileSpec>& profile) {
    if (!profile) return {};
    if (auto checked = within(where + ".frequency", profile->frequency_hz, 1, most_frequency_hz); !checked)
        return checked;
    if (auto checked = within(where + ".iterations", profile->iterations, 1, most_iterations); !checked) return checked;
    const auto& groups = profile->groups;
    if (groups.size() > most_groups) return refuse(where + ".groups", "must have at most {} groups", most_groups);
    for (const auto& group : groups) {
        if (!is_name(group.name) || group.name.size() > longest_group_name)
            return refuse(where + ".groups", "has a name that is not accepted: use {}, at most {} of them", name_rule,
                          longest_group_name);
        const std::string path = where + ".groups." + group.name;
        if (std::count_if(groups.begin(), groups.end(), [&](const auto& g) { return g.name == group.name; }) > 1)
            return refuse(path, "is there twice");
        if (auto checked = check_symbols(path + ".symbols", group.symbols, 1); !checked) return checked;
        if (auto checked = check_symbols(path + ".callers", group.callers, 0); !checked) return checked;
    }
    return {};
}

Status check_workload(const std::string& where, const WorkloadSpec& spec) {
    const WorkloadInfo* info = find_workload(spec.workload);
    if (info == nullptr || info->check) return refuse(where, "is no workload of this version of kab");
    if (auto checked = within(where + ".iterations", spec.iterations, 1, most_iterations); !checked) return checked;
    if (auto checked = within(where + ".warmup", spec.warmup, 0, most_iterations); !checked) return checked;
    const int least = spec.counters.empty() ? 0 : 1, most = spec.counters.empty() ? 0 : most_iterations;
    if (auto checked = within(where + ".counter_iterations", spec.counter_iterations, least, most); !checked)
        return checked;
    for (std::size_t i = 0; i < spec.counters.size(); ++i) {
        if (find_counter(spec.counters[i]) == nullptr)
            return refuse(where + ".counters", "has {}, which is no counter", spec.counters[i]);
        if (std::count(spec.counters.begin(), spec.counters.end(), spec.counters[i]) > 1)
            return refuse(where + ".counters", "has {} twice", spec.counters[i]);
    }
    if (auto checked = check_profile(where + ".profile", spec.profile); !checked) return checked;
    if (spec.quantile && !(*spec.quantile > 0 && *spec.quantile < 1))
        return refuse(where + ".score", "must be {}", score_rule);
    return check_parameters(where, *info, spec);
}

Status check_workloads(const std::vector<WorkloadSpec>& specs) {
    if (auto checked = within<std::size_t>("workloads", specs.size(), 1, most_workloads); !checked) return checked;
    std::int64_t runs = 0;
    for (const auto& spec : specs) {
        const std::string where = "workloads." + spec.workload;
        if (auto checked = check_workload(where, spec); !checked) return checked;
        if (std::count_if(specs.begin(), specs.end(), [&](const auto& s) { return s.workload == spec.workload; }) > 1)
            return refuse(where, "is there twice: vary it with 'sweep'");
        runs += runs_per_boot(spec);
    }
    if (runs > most_runs_per_boot)
        return refuse("workloads", "asks for {} runs a boot, at most {} are accepted", runs, most_runs_per_boot);
    return {};
}

Status check_checks(const Experiment& experiment) {
    const auto& checks = experiment.checks;
    const auto& debug = experiment.debug;
    const bool built = std::any_of(experiment.arms.begin(), experiment.arms.end(), is_built);
    if (checks.size() > most_checks) return refuse("checks", "must have at most {} items", most_checks);
    for (const auto& spec : checks) {
        const std::string where = "checks." + spec.check;
        const WorkloadInfo* info = find_workload(spec.check);
        if (info == nullptr || !info->check) return refuse(where, "is no check of this version of kab");
        if (std::count_if(checks.begin(), checks.end(), [&](const auto& c) { return c.check == spec.check; }) > 1)
            return refuse(where, "is there twice");
        if (spec.debug_only && debug.empty()) return refuse(where, "is for debug variants, of which there are none");
        if (spec.debug_only && !built) return refuse(where, "{}", images_have_no_variants);
        WorkloadSpec like;
        like.with = spec.with;
        if (auto checked = check_parameters(where, *info, like); !checked) return checked;
    }
    if (checks.empty() && !debug.empty()) return refuse("debug", "needs checks, which run on the debug variants");
    if (auto checked = paths("debug.config", debug.config); !checked) return checked;
    return paths("debug.patches", debug.patches);
}

Status check_host(const HostSpec& host) {
    if (host.kind != "qemu") return refuse("host.kind", "must be qemu");
    if (auto checked = within("host.cpus", host.cpus, 1, most_cpus); !checked) return checked;
    if (host.exact && host.cpus != 1) return refuse("host.cpus", "must be 1 with host.exact, not {}", host.cpus);
    if (host.exact && host.accel != HostSpec::Accel::tcg) return refuse("host.accel", "must be tcg with host.exact");
    return within("host.memory", host.memory_bytes, least_memory, most_memory);
}

Status check_exclude(const Exclude& exclude, const HostSpec& host) {
    const std::tuple<const char*, std::optional<double>, double> all[] = {
        {"host-load", exclude.host_load, most_host_load},
        {"steal", exclude.steal, most_share},
        {"run-delay", exclude.run_delay, most_share},
        {"canary", exclude.canary, most_canary}};
    for (const auto& [name, bound, most] : all) {
        if (!bound || (*bound > 0 && *bound <= most)) continue;
        return refuse(std::string("exclude.") + name, "must be above 0 and at most {}", most);
    }
    if (exclude.canary && host.exact) return refuse("exclude.canary", "has no meaning with host.exact");
    return {};
}

/// Metrics that the kernel reads from the clock of its ticks, which in exact mode come at the same instructions in
/// every boot: the workload then leaves them out.
bool is_by_ticks(std::string_view metric) {
    return metric == "system-time";
}

Status check_point(const std::vector<WorkloadSpec>& specs, const Decide& decide) {
    if (decide.at.empty()) return {};
    for (const auto& spec : specs) {
        if (spec.workload != decide.primary.substr(0, decide.primary.find('/'))) continue;
        const auto points = spec.points();
        const bool known = std::any_of(points.begin(), points.end(), [&](const Parameters& point) {
            return std::all_of(spec.sweep.begin(), spec.sweep.end(), [&](const auto& swept) {
                const auto given = decide.at.find(swept.first);
                return given != decide.at.end() && given->second == point.at(swept.first);
            });
        });
        if (known && decide.at.size() == spec.sweep.size()) return {};
    }
    return refuse("decide.at", "must name a point of the sweep of the primary's workload, all that is swept");
}

Status check_decide(const Experiment& experiment) {
    const auto& decide = experiment.decide;
    const bool exact = experiment.host.exact;
    const auto accepted = possible_primaries(experiment.workloads, exact);
    if (std::find(accepted.begin(), accepted.end(), decide.primary) == accepted.end())
        return refuse("decide.primary", "must be one of {}", fmt::join(accepted, ", "));
    const auto metric = find_metric(experiment.workloads, decide.primary);
    if (metric.better == Better::neither) return refuse("decide.primary", "{}", direction_rule);
    if (auto known = check_point(experiment.workloads, decide); !known) return known;
    const double most = metric.scale == Scale::linear ? most_linear_margin : most_margin;
    if (!((decide.margin > 0 || (exact && decide.margin == 0)) && decide.margin <= most))
        return refuse("decide.margin", "must be above 0 and at most {}", most);
    if (!(decide.alpha > least_alpha && decide.alpha <= most_alpha))
        return refuse("decide.alpha", "must be above {} and at most {}", least_alpha, most_alpha);
    if (auto checked = within<std::size_t>("decide.looks", decide.looks.size(), 1, most_looks); !checked)
        return checked;
    for (std::size_t i = 0; i < decide.looks.size(); ++i) {
        if (auto checked = within("decide.looks", decide.looks[i], least_blocks, most_blocks); !checked) return checked;
        if (i > 0 && decide.looks[i] <= decide.looks[i - 1]) return refuse("decide.looks", "must ascend");
    }
    if (decide.relink && !decide.control) return refuse("decide.relink", "needs the control");
    if (decide.relink && experiment.arms.front().kernel.source.kind == Source::Kind::image)
        return refuse("decide.relink", "needs a baseline that is built: an image's code cannot be moved");
    if (decide.fixed && decide.looks != std::vector<int>{*decide.fixed})
        return refuse("decide.fixed", "must be the only look");
    return {};
}

Status check_limits(const Limits& limits) {
    const std::pair<const char*, Nanoseconds> all[] = {{"boot", limits.boot},
                                                       {"run", limits.run},
                                                       {"block", limits.block},
                                                       {"evaluation", limits.evaluation},
                                                       {"build", limits.build}};
    for (const auto& [name, limit] : all) {
        if (limit >= least_limit && limit <= most_limit) continue;
        return refuse(std::string("limits.") + name, "must be from {} to {}", format_duration(least_limit),
                      format_duration(most_limit));
    }
    if (limits.boot > limits.block) return refuse("limits.boot", "must be at most limits.block");
    if (limits.block > limits.evaluation) return refuse("limits.block", "must be at most limits.evaluation");
    return {};
}

}  // namespace

bool may_be_repository(std::string_view location) {
    const auto in_scheme = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '.' ||
               c == '-';
    };
    const auto end = std::find_if_not(location.begin(), location.end(), in_scheme);
    const auto rest = location.substr(static_cast<std::size_t>(end - location.begin()));
    return !location.starts_with('-') && !rest.starts_with("::");
}

bool may_be_ref(std::string_view ref) {
    return !ref.empty() && ref.front() != '-' && ref.find_first_of(" \t:?*[\\") == std::string_view::npos;
}

bool is_name(std::string_view text) {
    const auto letter_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    if (text.empty() || !letter_or_digit(text[0])) return false;
    return std::all_of(text.begin(), text.end(),
                       [&](char c) { return letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

bool may_be_symbol(std::string_view text) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
               c == '$' || c == '*';
    };
    return std::all_of(text.begin(), text.end(), allowed) && text.find_first_not_of('*') != std::string_view::npos;
}

std::int64_t runs_per_boot(const WorkloadSpec& spec) {
    std::int64_t points = 1;
    for (const auto& [name, values] : spec.sweep) points *= std::ssize(values);
    return points *
           (spec.iterations + spec.warmup + spec.counter_iterations + (spec.profile ? spec.profile->iterations : 0));
}

std::vector<std::string> possible_primaries(const std::vector<WorkloadSpec>& specs, bool exact) {
    std::vector<std::string> accepted;
    for (const WorkloadSpec& spec : specs) {
        const WorkloadInfo* info = find_workload(spec.workload);
        if (info == nullptr) continue;
        for (const auto& metric : info->metrics)
            if (!(exact && is_by_ticks(metric.name)))
                accepted.push_back(fmt::format("{}/{}", spec.workload, metric.name));
        if (exact)
            for (const auto& metric : exact_run_metrics())
                accepted.push_back(fmt::format("{}/{}", spec.workload, metric.name));
        if (spec.profile)
            for (const auto& group : spec.profile->groups)
                accepted.push_back(fmt::format("{}/{}{}", spec.workload, share_prefix, group.name));
        for (const auto& counter : spec.counters) accepted.push_back(spec.workload + "/" + counter);
        if (spec.counters.empty()) continue;
        for (const auto& metric : counter_run_metrics())
            accepted.push_back(fmt::format("{}/{}", spec.workload, metric.name));
    }
    return accepted;
}

MetricInfo find_metric(const WorkloadSpec& spec, std::string_view metric) {
    auto info = find_metric(spec.workload, metric);
    if (spec.profile)
        for (const auto& group : spec.profile->groups)
            if (metric == std::string(share_prefix) + group.name) info.better = group.better;
    return info;
}

MetricInfo find_metric(const std::vector<WorkloadSpec>& specs, std::string_view workload_and_metric) {
    const auto slash = std::min(workload_and_metric.find('/'), workload_and_metric.size() - 1);
    for (const auto& spec : specs)
        if (spec.workload == workload_and_metric.substr(0, slash))
            return find_metric(spec, workload_and_metric.substr(slash + 1));
    return {};
}

Status check_experiment(const Experiment& experiment) {
    if (!is_name(experiment.name) || experiment.name.size() > longest_name)
        return refuse("experiment", "must be a name of at most {} characters: {}", longest_name, name_rule);
    if (auto checked = one_line("question", experiment.question, longest_question); !checked) return checked;
    if (auto checked = check_arms(experiment.arms); !checked) return checked;
    if (auto checked = check_workloads(experiment.workloads); !checked) return checked;
    if (auto checked = check_checks(experiment); !checked) return checked;
    if (auto checked = check_host(experiment.host); !checked) return checked;
    if (auto checked = check_exclude(experiment.exclude, experiment.host); !checked) return checked;
    if (auto checked = check_decide(experiment); !checked) return checked;
    return check_limits(experiment.limits);
}

}  // namespace kab
