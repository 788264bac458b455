#include <algorithm>

#include "cli/history_report.h"
#include "common/json.h"

namespace kab::cli {
namespace {

using history::Change;
using history::Kernel;
using history::Series;

/// As a shell reads it as one word.
std::string shell_word(const std::string& text) {
    constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/=,:";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

/// A JSON string is a YAML one.
std::string quoted(const std::string& text) {
    return dump_json(Json(text));
}

std::string arm_text(const std::string& name, const Kernel& kernel) {
    std::string source = "image: " + quoted(kernel.path);
    if (!kernel.modules.empty()) source += ", modules: " + quoted(kernel.modules);
    std::string text = fmt::format("  {}:\n    source: {{{}}}\n", name, source);
    if (!kernel.command_line.empty()) text += "    command_line: " + quoted(kernel.command_line) + "\n";
    return text;
}

Json member(const Json& object, const char* key) {
    return object.is_object() && object.contains(key) ? object.at(key) : Json();
}

/// A resolved profile as a file has it: its groups by name. The share that is to be primary has a direction, which an
/// evaluation of before groups had one tells only by its metric.
Json profile_of_file(Json profile, const Series& series) {
    Json groups = Json::object();
    for (const auto& group : member(profile, "groups")) {
        auto& own = groups[group.at("name").get<std::string>()];
        own["symbols"] = member(group, "symbols");
        if (const auto callers = member(group, "callers"); !callers.empty()) own["callers"] = callers;
        if (const auto better = member(group, "better"); better.is_string()) own["better"] = better;
        if (const auto of = member(group, "of"); of.is_string()) own["of"] = of;
        if (series.better != Better::neither &&
            series.question.metric == "share:" + group.at("name").get<std::string>())
            own["better"] = to_string(series.better);
    }
    profile["groups"] = groups;
    return profile;
}

/// The workload as it was declared; only at its point where the series is of one point.
std::string workload_text(const Series& series, const history::Record& record, const Json& experiment) {
    Json workload;
    for (const auto& one : member(experiment, "workloads"))
        if (member(one, "workload") == Json(series.question.workload)) workload = one;
    Json with = member(workload, "with"), sweep = member(workload, "sweep");
    if (series.question.point == "*") {
        for (const auto& [name, values] : sweep.items()) with.erase(name);
    } else {
        sweep = Json();
        for (const auto& point : record.tree.points)
            if (point.workload == series.question.workload && point.label == series.question.point)
                with = parse_json(point.parameters).value_or(with);
    }
    std::string text = "  - workload: " + series.question.workload + "\n";
    const auto add = [&](const char* key, const Json& value) {
        if (!value.is_null() && !((value.is_object() || value.is_array()) && value.empty()))
            text += fmt::format("    {}: {}\n", key, dump_json(value));
    };
    add("with", with);
    add("sweep", sweep);
    for (const char* key : {"iterations", "warmup", "score"}) add(key, member(workload, key));
    if (const auto counters = member(workload, "counters"); counters.is_array() && !counters.empty()) {
        add("counters", counters);
        add("counter_iterations", member(workload, "counter_iterations"));
    }
    if (const auto profile = member(workload, "profile"); profile.is_object())
        add("profile", profile_of_file(profile, series));
    return text;
}

std::string host_text(const Json& host) {
    std::string text;
    for (const char* key : {"kind", "cpus", "accel", "machine"})
        if (const auto value = member(host, key); !value.is_null())
            text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key,
                                value.is_string() ? value.get<std::string>() : dump_json(value));
    if (const auto bytes = member(host, "memory_bytes"); bytes.is_number_integer())
        text += fmt::format("{}memory: {}M", text.empty() ? "" : ", ", bytes.get<std::int64_t>() >> 20);
    if (member(host, "exact") != Json(true)) return text;
    std::string vary;
    for (const auto& [key, word] : {std::pair("vary_timer", "timer"), std::pair("vary_layout", "layout")})
        if (member(host, key) == Json(true)) vary += (vary.empty() ? "" : ", ") + std::string(word);
    return text + ", exact: true, vary: [" + vary + "]";
}

/// In the largest unit of which it is a whole number.
std::string limit_text(std::int64_t nanoseconds) {
    constexpr std::pair<std::int64_t, const char*> units[] = {
        {3600000000000, "h"}, {60000000000, "m"}, {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
    for (const auto& [unit, name] : units)
        if (nanoseconds % unit == 0) return fmt::format("{}{}", nanoseconds / unit, name);
    return fmt::format("{}ns", nanoseconds);
}

std::string limits_text(const Json& limits) {
    std::string text;
    for (const char* key : {"boot", "run", "block", "evaluation", "build"})
        if (const auto limit = member(limits, (std::string(key) + "_ns").c_str()); limit.is_number_integer())
            text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, limit_text(limit.get<std::int64_t>()));
    return text;
}

/// What the experiment is beside arms and workloads, as it was declared.
std::string settings_text(const Json& experiment) {
    std::string text;
    if (const auto host = host_text(member(experiment, "host")); !host.empty()) text += "host: {" + host + "}\n";
    if (const auto exclude = member(experiment, "exclude"); exclude.is_object() && !exclude.empty())
        text += "exclude: " + dump_json(exclude) + "\n";
    if (const auto limits = limits_text(member(experiment, "limits")); !limits.empty())
        text += "limits: {" + limits + "}\n";
    return text;
}

std::string decide_text(const Series& series, const Json& decide) {
    std::string text = fmt::format("primary: {}/{}", series.question.workload, series.question.metric);
    // The margin is one of the primary metric.
    const bool same = member(decide, "primary") == Json(series.question.workload + "/" + series.question.metric);
    for (const char* key : {"margin", "alpha", "looks", "fixed"}) {
        const bool instead = std::string(key) == "looks" && decide.contains("fixed");
        const auto value = member(decide, key);
        if (value.is_null() || instead || (!same && std::string(key) == "margin")) continue;
        text += fmt::format(", {}: {}", key, dump_json(value));
    }
    if (member(decide, "control") == Json(false)) text += ", control: false";
    return text;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

}  // namespace

std::string confirming_command(const Series& series, const Change& change) {
    const auto& question = series.question;
    std::string text = fmt::format("kab history {} --arm {} --metric {}/{}", shell_word(question.experiment),
                                   shell_word(question.arm), question.workload, question.metric);
    if (!question.point.empty() && question.point != "*") text += " --point " + shell_word(question.point);
    return text +
           fmt::format(" --confirm {} > confirm.yaml && kab run confirm.yaml", series.values[change.index].evaluation);
}

Result<std::string> confirming_experiment(const Series& series, const Change& change, const history::Record& record) {
    const auto& last = series.values[change.index - 1];
    const auto& first = series.values[change.index];
    if (!change.arm_changed && !change.baseline_changed)
        return fail(Fault::usage,
                    "{} and {} booted the same kernels: what changed between them is not a kernel, and no A/B can "
                    "confirm it",
                    last.evaluation, first.evaluation);
    if (series.better == Better::neither)
        return fail(Fault::usage,
                    "{}/{} is better in neither direction, so that it cannot be the primary metric of an A/B: declare "
                    "'better' of its group",
                    series.question.workload, series.question.metric);
    const auto& before = change.arm_changed ? last.arm : last.base;
    const auto& after = change.arm_changed ? first.arm : first.base;
    if (before.path.empty() || after.path.empty())
        return fail(Fault::usage, "the database does not know the image of the kernel that {} booted",
                    before.path.empty() ? last.evaluation : first.evaluation);
    const auto experiment = parse_json(record.tree.evaluation.experiment_json);
    if (!experiment) return pass(experiment);
    const std::string what = change.arm_changed ? series.question.arm : series.against;
    std::string name = fmt::format("{}.confirm-{}", series.question.experiment, lower(first.evaluation));
    if (name.size() > 100) name = "confirm-" + lower(first.evaluation);
    std::string text = fmt::format(
        "# Whether {}'s kernels before and after a change in the history of {} differ as well when they\n"
        "# are booted against each other: those of {} and {}.\n"
        "experiment: {}\n"
        "question: Do the kernels of {} before and after {} differ?\n"
        "arms:\n{}{}workloads:\n{}",
        what, series.question.experiment, last.evaluation, first.evaluation, name, what, first.evaluation,
        arm_text("before", before), arm_text("after", after), workload_text(series, record, *experiment));
    text += settings_text(*experiment);
    if (member(member(*experiment, "decide"), "relink") == Json(true))
        text += "# Without 'control: relink': the code of a built image cannot be moved.\n";
    return text + "decide: {" + decide_text(series, member(*experiment, "decide")) + "}\n";
}

}  // namespace kab::cli
