#include "daemon/spec/experiment_json.h"

#include <stdexcept>
#include <utility>

#include "common/score.h"
#include "daemon/spec/check.h"

namespace kab {
namespace {

/// What the JSON library would cut to fit is no number of ours.
template <class T>
T whole(const Json& json) {
    const bool fits = json.is_number_unsigned()
                          ? std::in_range<T>(json.get<std::uint64_t>())
                          : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
    if (!fits) throw std::out_of_range(dump_json(json) + " is no whole number in range");
    return json.get<T>();
}

std::map<std::string, std::vector<std::int64_t>> sweep_from(const Json& json) {
    std::map<std::string, std::vector<std::int64_t>> sweep;
    for (const auto& [name, values] : json.items()) {
        auto& read = sweep[name];  // an empty list stays one
        for (const auto& value : values) read.push_back(whole<std::int64_t>(value));
    }
    return sweep;
}

const char* kind_name(Source::Kind kind) {
    switch (kind) {
        case Source::Kind::tarball: return "tarball";
        case Source::Kind::git: return "git";
        case Source::Kind::dir: return "dir";
        case Source::Kind::image: return "image";
    }
    return "tarball";
}

Json source_json(const Source& source) {
    Json json{{kind_name(source.kind), source.location}};
    if (source.kind == Source::Kind::git) json["ref"] = source.ref;
    if (source.modules) json["modules"] = *source.modules;
    return json;
}

Source source_from(const Json& json) {
    Source source;
    for (const auto kind : {Source::Kind::tarball, Source::Kind::git, Source::Kind::dir, Source::Kind::image}) {
        if (!json.contains(kind_name(kind))) continue;
        source.kind = kind;
        source.location = json.at(kind_name(kind)).get<std::string>();
    }
    source.ref = json.value("ref", "");
    if (json.contains("modules")) source.modules = json.at("modules").get<std::string>();
    return source;
}

const char* accel_name(HostSpec::Accel accel) {
    if (accel == HostSpec::Accel::kvm) return "kvm";
    return accel == HostSpec::Accel::tcg ? "tcg" : "auto";
}

const char* machine_name(HostSpec::Machine machine) {
    if (machine == HostSpec::Machine::microvm) return "microvm";
    return machine == HostSpec::Machine::q35 ? "q35" : "auto";
}

Json arm_json(const Arm& arm) {
    Json json{{"name", arm.name},
              {"source", source_json(arm.kernel.source)},
              {"base", arm.kernel.base},
              {"config", arm.kernel.config},
              {"patches", arm.kernel.patches},
              {"command_line", arm.kernel.command_line}};
    if (!arm.against.empty()) json["against"] = arm.against;
    return json;
}

Arm arm_from(const Json& json) {
    Arm arm;
    arm.name = json.at("name").get<std::string>();
    arm.against = json.value("against", "");
    arm.kernel.source = source_from(json.at("source"));
    arm.kernel.base = json.at("base").get<std::string>();
    arm.kernel.config = json.at("config").get<std::vector<std::string>>();
    arm.kernel.patches = json.at("patches").get<std::vector<std::string>>();
    arm.kernel.command_line = json.at("command_line").get<std::string>();
    return arm;
}

Json profile_json(const ProfileSpec& profile) {
    Json groups = Json::array();
    for (const auto& group : profile.groups) {
        groups.push_back({{"name", group.name}, {"symbols", group.symbols}, {"callers", group.callers}});
        if (group.better != Better::neither) groups.back()["better"] = to_string(group.better);
        if (group.of_kernel) groups.back()["of"] = "kernel";
    }
    return {{"frequency", profile.frequency_hz}, {"iterations", profile.iterations}, {"groups", groups}};
}

/// Absent where the share of a group is better in neither direction.
Better better_from(const Json& group) {
    const auto word = group.value("better", "neither");
    for (const auto better : {Better::lower, Better::higher, Better::neither})
        if (word == to_string(better)) return better;
    throw std::out_of_range("'better' of a group is " + dump_json(word) + ", expected lower or higher");
}

/// Absent where the share of a group is of all samples.
bool of_kernel_from(const Json& group) {
    const auto word = group.value("of", "all");
    if (word == "kernel" || word == "all") return word == "kernel";
    throw std::out_of_range("'of' of a group is " + dump_json(word) + ", expected kernel or all");
}

ProfileSpec profile_from(const Json& json) {
    ProfileSpec profile;
    profile.frequency_hz = whole<int>(json.at("frequency"));
    profile.iterations = whole<int>(json.at("iterations"));
    for (const auto& group : json.at("groups"))
        profile.groups.push_back(
            {group.at("name").get<std::string>(), group.at("symbols").get<std::vector<std::string>>(),
             group.at("callers").get<std::vector<std::string>>(), better_from(group), of_kernel_from(group)});
    return profile;
}

Json workload_json(const WorkloadSpec& workload) {
    Json json{{"workload", workload.workload},
              {"with", workload.with},
              {"sweep", workload.sweep},
              {"iterations", workload.iterations},
              {"warmup", workload.warmup},
              {"counters", workload.counters},
              {"counter_iterations", workload.counter_iterations}};
    if (workload.profile) json["profile"] = profile_json(*workload.profile);
    if (workload.quantile) json["score"] = score_word(workload.quantile);
    return json;
}

WorkloadSpec workload_from(const Json& json) {
    WorkloadSpec workload;
    workload.workload = json.at("workload").get<std::string>();
    for (const auto& [name, value] : json.at("with").items()) workload.with[name] = whole<std::int64_t>(value);
    workload.sweep = sweep_from(json.at("sweep"));
    workload.iterations = whole<int>(json.at("iterations"));
    workload.warmup = whole<int>(json.at("warmup"));
    workload.counters = json.at("counters").get<std::vector<std::string>>();
    workload.counter_iterations = whole<int>(json.at("counter_iterations"));
    if (json.contains("profile")) workload.profile = profile_from(json.at("profile"));
    if (json.contains("score")) {
        // A word that is none gives 0, which check_experiment refuses.
        workload.quantile = parse_score(json.at("score").get<std::string>()).value_or(Score{0}).quantile;
    }
    return workload;
}

Json check_json(const CheckSpec& check) {
    return {{"check", check.check}, {"with", check.with}, {"debug_only", check.debug_only}};
}

CheckSpec check_from(const Json& json) {
    CheckSpec check;
    check.check = json.at("check").get<std::string>();
    for (const auto& [name, value] : json.at("with").items()) check.with[name] = whole<std::int64_t>(value);
    check.debug_only = json.at("debug_only").get<bool>();
    return check;
}

/// Experiments of before there were checks have neither key.
void checks_from(const Json& json, Experiment& experiment) {
    for (const auto& check : json.value("checks", Json::array())) experiment.checks.push_back(check_from(check));
    if (!json.contains("debug")) return;
    experiment.debug.config = json.at("debug").at("config").get<std::vector<std::string>>();
    experiment.debug.patches = json.at("debug").at("patches").get<std::vector<std::string>>();
}

Json decide_json(const Decide& decide) {
    Json json{{"primary", decide.primary},
              {"margin", decide.margin},
              {"alpha", decide.alpha},
              {"looks", decide.looks},
              {"control", decide.control}};
    if (!decide.at.empty()) json["at"] = decide.at;
    if (decide.fixed) json["fixed"] = *decide.fixed;
    if (decide.relink) json["relink"] = true;
    if (decide.seed) json["seed"] = *decide.seed;
    return json;
}

Decide decide_from(const Json& json) {
    Decide decide;
    decide.looks.clear();
    decide.primary = json.at("primary").get<std::string>();
    decide.margin = json.at("margin").get<double>();
    decide.alpha = json.at("alpha").get<double>();
    for (const auto& look : json.at("looks")) decide.looks.push_back(whole<int>(look));
    decide.control = json.at("control").get<bool>();
    decide.relink = json.value("relink", false);
    if (json.contains("at")) decide.at = json.at("at").get<Parameters>();
    if (json.contains("fixed")) decide.fixed = whole<int>(json.at("fixed"));
    if (json.contains("seed")) decide.seed = whole<std::uint64_t>(json.at("seed"));
    return decide;
}

Json host_json(const HostSpec& host) {
    Json json{{"kind", host.kind},
              {"cpus", host.cpus},
              {"memory_bytes", host.memory_bytes},
              {"accel", accel_name(host.accel)},
              {"machine", machine_name(host.machine)}};
    if (!host.exact) return json;
    json["exact"] = true;
    json["vary_timer"] = host.vary_timer;
    json["vary_layout"] = host.vary_layout;
    return json;
}

HostSpec host_from(const Json& json) {
    HostSpec host;
    host.kind = json.at("kind").get<std::string>();
    host.cpus = whole<int>(json.at("cpus"));
    host.memory_bytes = whole<std::int64_t>(json.at("memory_bytes"));
    for (const auto accel : {HostSpec::Accel::automatic, HostSpec::Accel::kvm, HostSpec::Accel::tcg})
        if (json.at("accel") == accel_name(accel)) host.accel = accel;
    for (const auto machine : {HostSpec::Machine::automatic, HostSpec::Machine::microvm, HostSpec::Machine::q35})
        if (json.at("machine") == machine_name(machine)) host.machine = machine;
    host.exact = json.value("exact", false);
    if (!host.exact) return host;
    host.vary_timer = json.at("vary_timer").get<bool>();
    host.vary_layout = json.at("vary_layout").get<bool>();
    return host;
}

/// Only what is declared.
Json exclude_json(const Exclude& exclude) {
    Json json = Json::object();
    if (exclude.host_load) json["host-load"] = *exclude.host_load;
    if (exclude.steal) json["steal"] = *exclude.steal;
    if (exclude.run_delay) json["run-delay"] = *exclude.run_delay;
    if (exclude.canary) json["canary"] = *exclude.canary;
    if (exclude.throttled) json["throttled"] = true;
    return json;
}

Exclude exclude_from(const Json& json) {
    const auto read = [&](const char* key) -> std::optional<double> {
        if (!json.contains(key)) return std::nullopt;
        return json.at(key).get<double>();
    };
    Exclude exclude;
    exclude.host_load = read("host-load");
    exclude.steal = read("steal");
    exclude.run_delay = read("run-delay");
    exclude.canary = read("canary");
    exclude.throttled = json.value("throttled", false);
    return exclude;
}

Limits limits_from(const Json& json) {
    const auto read = [&](const char* key) { return Nanoseconds(whole<std::int64_t>(json.at(key))); };
    Limits limits;
    limits.boot = read("boot_ns");
    limits.run = read("run_ns");
    limits.block = read("block_ns");
    limits.evaluation = read("evaluation_ns");
    limits.build = read("build_ns");
    return limits;
}

}  // namespace

Json to_json(const Experiment& experiment) {
    Json arms = Json::array();
    for (const auto& arm : experiment.arms) arms.push_back(arm_json(arm));
    Json workloads = Json::array();
    for (const auto& workload : experiment.workloads) workloads.push_back(workload_json(workload));
    Json checks = Json::array();
    for (const auto& check : experiment.checks) checks.push_back(check_json(check));
    const auto& limits = experiment.limits;
    return {{"experiment", experiment.name},
            {"question", experiment.question},
            {"arms", arms},
            {"workloads", workloads},
            {"checks", checks},
            {"debug", {{"config", experiment.debug.config}, {"patches", experiment.debug.patches}}},
            {"host", host_json(experiment.host)},
            {"decide", decide_json(experiment.decide)},
            {"exclude", exclude_json(experiment.exclude)},
            {"limits",
             {{"boot_ns", limits.boot.count()},
              {"run_ns", limits.run.count()},
              {"block_ns", limits.block.count()},
              {"evaluation_ns", limits.evaluation.count()},
              {"build_ns", limits.build.count()}}}};
}

Result<Experiment> experiment_from_json(const Json& json) {
    try {
        Experiment experiment;
        experiment.name = json.at("experiment").get<std::string>();
        experiment.question = json.at("question").get<std::string>();
        for (const auto& arm : json.at("arms")) experiment.arms.push_back(arm_from(arm));
        for (const auto& workload : json.at("workloads")) experiment.workloads.push_back(workload_from(workload));
        checks_from(json, experiment);
        experiment.host = host_from(json.at("host"));
        experiment.decide = decide_from(json.at("decide"));
        if (json.contains("exclude")) experiment.exclude = exclude_from(json.at("exclude"));
        experiment.limits = limits_from(json.at("limits"));
        if (auto checked = check_experiment(experiment); !checked) return pass(checked);
        return experiment;
    } catch (const Json::exception& e) {
        return fail(Fault::spec, "resolved experiment: {}", e.what());
    } catch (const std::out_of_range& e) {
        return fail(Fault::spec, "resolved experiment: {}", e.what());
    }
}

}  // namespace kab
