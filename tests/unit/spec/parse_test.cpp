#include "daemon/spec/parse.h"

#include <gmock/gmock.h>

#include "common/files.h"
#include "common/workload_catalog.h"
#include "daemon/spec/check.h"
#include "daemon/spec/experiment_json.h"
#include "daemon/spec/yaml.h"

namespace kab {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Experiment parse_good(const std::string& text) {
    const auto parsed = parse_experiment(text, "f");
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().front().text());
    return parsed ? parsed->experiment : Experiment{};
}

std::string golden_text(const char* name) {
    const auto text = read_file(fs::path(KAB_SOURCE_DIR) / "tests/golden/spec/good" / name);
    EXPECT_TRUE(text);
    return text.value_or("");
}

TEST(ParseExperiment, DefaultsAreFilledIn) {
    const Experiment e = parse_good(golden_text("smallest.yaml"));
    EXPECT_EQ(e.name, "x");
    EXPECT_EQ(e.question, "");
    ASSERT_EQ(e.arms.size(), 2U);
    EXPECT_EQ(e.arms[0].name, "base");
    EXPECT_EQ(e.arms[0].against, "");
    EXPECT_EQ(e.arms[1].against, "base");
    EXPECT_EQ(e.arms[1].kernel.source.kind, Source::Kind::tarball);
    EXPECT_EQ(e.arms[1].kernel.source.location, "linux.tar.xz");
    EXPECT_EQ(e.arms[1].kernel.base, "tinyconfig");
    EXPECT_THAT(e.arms[1].kernel.patches, ElementsAre("a.patch"));
    ASSERT_EQ(e.workloads.size(), 1U);
    EXPECT_THAT(e.workloads[0].with, ElementsAre(Pair("children", 1000), Pair("concurrency", 0)));
    EXPECT_EQ(e.workloads[0].iterations, 5);
    EXPECT_EQ(e.workloads[0].warmup, 1);
    EXPECT_EQ(e.workloads[0].counter_iterations, 0) << "no counters, no iterations for them";
    EXPECT_FALSE(e.workloads[0].quantile) << "the mean";
    EXPECT_EQ(e.workloads[0].points().size(), 1U);
    EXPECT_EQ(e.decide.primary, "ipcns-exit/elapsed");
    EXPECT_DOUBLE_EQ(e.decide.margin, 0.02);
    EXPECT_THAT(e.decide.looks, ElementsAre(6, 10, 16, 24, 32));
    EXPECT_FALSE(e.decide.fixed);
    EXPECT_FALSE(e.decide.seed);
    EXPECT_TRUE(e.decide.control);
    EXPECT_EQ(e.host.memory_bytes, 512LL << 20);
    EXPECT_EQ(e.limits.run, 5min);
}

TEST(ParseExperiment, OuterLimitsBoundTheDefaultsOfInnerOnes) {
    const std::string start =
        "experiment: x\nkernel: {source: {dir: linux}}\narms: {a: {}, b: {}}\n"
        "workloads: [{workload: ipcns-exit}]\nlimits: ";
    const Experiment e = parse_good(start + "{evaluation: 30s}");
    EXPECT_EQ(e.limits.block, 30s);
    EXPECT_EQ(e.limits.boot, 30s);
    EXPECT_EQ(parse_good(start + "{block: 2h}").limits.boot, 60s);
}

TEST(ParseExperiment, WhatCanBeReadOfAWrongFileIsGiven) {
    ParsedSpec partial;
    const auto parsed = parse_experiment(
        "experiment: x\nkernel: {source: {dir: linux}, config: [a.config, 5]}\narms: {a: {}, b: {patches: [x.patch]}}\n"
        "workloads: [{workload: nosuch}]\n",
        "f", &partial);
    ASSERT_FALSE(parsed);
    ASSERT_EQ(partial.experiment.arms.size(), 2U);
    EXPECT_EQ(partial.experiment.arms[1].kernel.source.location, "linux");
    EXPECT_THAT(partial.experiment.arms[1].kernel.config, ElementsAre("a.config"));
    EXPECT_EQ(partial.places.at("x.patch"), "f:3:29");
}

TEST(ParseExperiment, EveryKeySetsItsField) {
    const Experiment e = parse_good(golden_text("everything.yaml"));
    EXPECT_EQ(e.name, "every-key_1.0");
    EXPECT_EQ(e.question, "What is said: all of it?");
    ASSERT_EQ(e.arms.size(), 5U);
    const KernelSpec& fix = e.arms[1].kernel;
    EXPECT_EQ(fix.source.kind, Source::Kind::git);
    EXPECT_EQ(fix.source.location, "https://example.org/linux.git");
    EXPECT_EQ(fix.source.ref, "v6.1");
    EXPECT_EQ(fix.base, "defconfig");
    EXPECT_THAT(fix.config, ElementsAre("vm.config", "debug.config", "more.config"));
    EXPECT_THAT(fix.patches, ElementsAre("common.patch", "series", "one.patch"));
    EXPECT_EQ(fix.command_line, "") << "an empty one replaces the default";
    EXPECT_EQ(e.arms[0].kernel.command_line, "mitigations=off");
    const Arm& old = e.arms[2];
    EXPECT_EQ(old.kernel.source.kind, Source::Kind::tarball);
    EXPECT_EQ(old.kernel.source.ref, "");
    EXPECT_EQ(old.kernel.base, "tinyconfig");
    EXPECT_EQ(old.against, "base");
    const Arm& built = e.arms[3];
    EXPECT_EQ(built.kernel.source.kind, Source::Kind::image);
    EXPECT_EQ(built.kernel.source.modules, "modules-dir");
    EXPECT_TRUE(built.kernel.config.empty());
    EXPECT_TRUE(built.kernel.patches.empty());
    EXPECT_EQ(built.against, "fix");
    EXPECT_EQ(e.arms[4].kernel.source.kind, Source::Kind::dir);

    const WorkloadSpec& w = e.workloads.at(0);
    EXPECT_THAT(w.with, ElementsAre(Pair("children", 200)));
    EXPECT_THAT(w.sweep, ElementsAre(Pair("concurrency", ElementsAre(1, 2, 4))));
    EXPECT_EQ(w.iterations, 7);
    EXPECT_EQ(w.warmup, 2);
    EXPECT_THAT(w.counters, ElementsAre("task-clock", "cycles"));
    EXPECT_EQ(w.counter_iterations, 3);
    EXPECT_EQ(w.quantile, 0.999);

    EXPECT_EQ(e.host.cpus, 4);
    EXPECT_EQ(e.host.memory_bytes, 1LL << 30);
    EXPECT_EQ(e.host.accel, HostSpec::Accel::tcg);
    EXPECT_EQ(e.host.machine, HostSpec::Machine::q35);
    EXPECT_EQ(e.decide.primary, "ipcns-exit/task-clock");
    EXPECT_DOUBLE_EQ(e.decide.margin, 0.01);
    EXPECT_DOUBLE_EQ(e.decide.alpha, 0.01);
    EXPECT_THAT(e.decide.looks, ElementsAre(4, 8));
    EXPECT_FALSE(e.decide.control);
    EXPECT_EQ(e.decide.seed, 18446744073709551615U);
    EXPECT_EQ(e.limits.boot, 30s);
    EXPECT_EQ(e.limits.run, 1min);
    EXPECT_EQ(e.limits.block, 10min);
    EXPECT_EQ(e.limits.evaluation, 2h);
    EXPECT_EQ(e.limits.build, 90min);
    EXPECT_EQ(e.exclude.host_load, 0.5);
    EXPECT_EQ(e.exclude.steal, 0.02);
    EXPECT_EQ(e.exclude.run_delay, 0.05);
    EXPECT_EQ(e.exclude.canary, 0.1);
    EXPECT_TRUE(e.exclude.throttled);
}

TEST(ParseExperiment, NothingIsExcludedUnlessItIsDeclared) {
    const Exclude& exclude = parse_good(golden_text("smallest.yaml")).exclude;
    EXPECT_FALSE(exclude.host_load || exclude.steal || exclude.run_delay || exclude.canary || exclude.throttled);
}

TEST(ParseExperiment, TheJsonOfAnExperimentReadsBackTheSame) {
    for (const char* name :
         {"everything.yaml", "smallest.yaml", "fixed-blocks.yaml", "two-swept-parameters.yaml", "profile.yaml"}) {
        const Experiment e = parse_good(golden_text(name));
        const auto back = experiment_from_json(to_json(e));
        ASSERT_TRUE(back) << back.error().text();
        EXPECT_EQ(to_json(*back), to_json(e)) << name;
    }
}

TEST(ParseExperiment, ReadsAProfileWithItsGroups) {
    const Experiment e = parse_good(golden_text("profile.yaml"));
    const auto& profile = e.workloads.at(0).profile;
    ASSERT_TRUE(profile);
    EXPECT_EQ(profile->frequency_hz, 499);
    EXPECT_EQ(profile->iterations, 2);
    ASSERT_EQ(profile->groups.size(), 3U);
    EXPECT_EQ(profile->groups[0].name, "spinlock");
    EXPECT_THAT(profile->groups[0].symbols, ElementsAre("_raw_spin_lock", "*queued_spin_lock_slowpath"));
    EXPECT_THAT(profile->groups[0].callers, testing::IsEmpty());
    EXPECT_EQ(profile->groups[1].name, "ipc-lock");
    EXPECT_THAT(profile->groups[1].callers, ElementsAre("ipc_lock*", "ipc_obtain_object_check"));
    EXPECT_EQ(profile->groups[0].better, Better::neither);
    EXPECT_EQ(profile->groups[1].better, Better::lower);
    EXPECT_EQ(profile->groups[2].better, Better::higher);
    EXPECT_FALSE(profile->groups[0].of_kernel);
    EXPECT_TRUE(profile->groups[1].of_kernel);
    EXPECT_FALSE(profile->groups[2].of_kernel);
    EXPECT_EQ(find_metric(e.workloads, e.decide.primary).better, Better::lower);
    EXPECT_EQ(find_metric(e.workloads, "proc-read/share:spinlock").better, Better::neither);
    ASSERT_TRUE(e.workloads.at(1).profile);
    EXPECT_EQ(e.workloads[1].profile->frequency_hz, 997);
    EXPECT_EQ(e.workloads[1].profile->iterations, 1);
    EXPECT_EQ(e.decide.primary, "proc-read/share:ipc-lock");
    EXPECT_DOUBLE_EQ(e.decide.margin, 0.05);
    EXPECT_FALSE(parse_good(golden_text("smallest.yaml")).workloads.at(0).profile);
}

TEST(ParseExperiment, PointsAreTheProductOfTheSweepWithTheFixedParameters) {
    const Experiment e = parse_good(golden_text("two-swept-parameters.yaml"));
    std::vector<std::pair<std::int64_t, std::int64_t>> points;
    for (const auto& point : e.workloads.at(0).points()) {
        ASSERT_EQ(point.size(), 2U);
        points.emplace_back(point.at("children"), point.at("concurrency"));
    }
    EXPECT_THAT(points, ElementsAre(Pair(10, 1), Pair(10, 8), Pair(100, 1), Pair(100, 8)));
    const Experiment one = parse_good(golden_text("everything.yaml"));
    EXPECT_EQ(one.workloads.at(0).points().at(1), (Parameters{{"children", 200}, {"concurrency", 2}}));
}

TEST(ParseExperiment, AFixedNumberOfBlocksIsALookOfItsOwn) {
    const Experiment e = parse_good(golden_text("fixed-blocks.yaml"));
    EXPECT_EQ(e.decide.fixed, 12);
    EXPECT_THAT(e.decide.looks, ElementsAre(12));
    EXPECT_DOUBLE_EQ(e.decide.alpha, 0.05);
}

TEST(ParseExperiment, TheOrderOfArmsIsTheFiles) {
    const Experiment e = parse_good(
        "experiment: x\nkernel: {source: {dir: d}}\narms: {z: , a: , m: }\n"
        "workloads: [{workload: ipcns-exit}]\n");
    std::vector<std::string> names;
    for (const Arm& arm : e.arms) names.push_back(arm.name);
    EXPECT_THAT(names, ElementsAre("z", "a", "m"));
}

TEST(ParseExperiment, PlacesTellWherePathsAreWritten) {
    const auto parsed = parse_experiment(golden_text("everything.yaml"), "dir/e.yaml");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->places.at("common.patch"), "dir/e.yaml:8:13");
    EXPECT_EQ(parsed->places.at("modules-dir"), "dir/e.yaml:20:45");
}

TEST(ParseExperiment, TheExportedDocumentKeepsTypes) {
    const auto exported = export_yaml("a: 010\nb: 10\nc: On\nd: true\ne: 1.50\nf: '5'\ng:\nh: [1e2, -0]\n", "f");
    ASSERT_TRUE(exported);
    EXPECT_EQ(dump_json(*exported), R"({"a":"010","b":10,"c":"On","d":true,"e":1.5,"f":"5","g":null,"h":[100.0,0]})");
}

TEST(ParseExperiment, CrlfLinesAreAccepted) {
    std::string text = golden_text("everything.yaml");
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\r\n");
    EXPECT_EQ(to_json(parse_good(text)), to_json(parse_good(golden_text("everything.yaml"))));
}

TEST(ParseExperiment, HugeAndHostileTextIsRefusedAtOnce) {
    std::string bomb = "a0: &a0 x\n";
    for (int i = 1; i < 30; ++i) bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
    std::string stairs;
    for (int i = 0; i < 1000; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    std::string many_keys;
    for (int i = 0; i < 60000; ++i) many_keys += fmt::format("k{}: \n", i);
    std::string question_marks, dashes, empty_lists = "a: [";
    for (int i = 0; i < 300000; ++i) question_marks += "? ", dashes += "- ", empty_lists += "[],";
    const std::pair<std::string, const char*> cases[] = {
        {std::string(10U << 20, '['), "has 10485760 bytes, at most 1048576"},
        {std::string(1U << 20, '['), "nested more than 16 levels"},
        {std::string(1U << 20, '{'), "nested more than 16 levels"},
        {bomb, "anchors"},
        {stairs, "nested more than 16 levels"},
        {many_keys, "more than 20000 values"},
        {question_marks, "a key must be text"},
        {dashes, "nested more than 16 levels"},
        {empty_lists, "more than 20000 values"},
        {std::string(1U << 20, '\0'), "control character"},
        {std::string(1U << 20, '"'), ""},
        {std::string(1U << 20, '!'), ""},
        {std::string(1U << 20, 'x'), "must be a map"},
    };
    for (const auto& [text, says] : cases) {
        const auto start = std::chrono::steady_clock::now();
        const auto parsed = parse_experiment(text, "f");
        const auto took = std::chrono::steady_clock::now() - start;
        ASSERT_FALSE(parsed) << text.substr(0, 20);
        EXPECT_THAT(parsed.error().front().text(), HasSubstr(says)) << text.substr(0, 20);
        // Generous: what is guarded against takes minutes or ends the process.
        EXPECT_LT(took, 5s) << text.substr(0, 20);
    }
}

TEST(ParseExperiment, ManyErrorsAreBounded) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += fmt::format("k{}: 1\n", i);
    const auto parsed = parse_experiment(text, "f");
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().size(), 101U);
    EXPECT_THAT(parsed.error().back().message, HasSubstr("and 4903 more"));
}

TEST(ParseExperiment, UserTextInMessagesIsCutAndMadeVisible) {
    EXPECT_EQ(yaml::shown("a\nb\tc\x01"), R"('a\nb\tc\x01')");
    EXPECT_EQ(yaml::shown(std::string(100, 'x')), "'" + std::string(60, 'x') + "...'");
    const auto parsed = parse_experiment("\"un\\x07known\": 1\n", "f");
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().front().message, HasSubstr(R"(unknown key 'un\x07known')"));
}

// The schema lists the catalog's words a second time, for editors: hold the two together.
TEST(ExperimentSchema, NamesWhatTheCatalogNames) {
    const auto text = read_file(fs::path(KAB_SOURCE_DIR) / "schema/experiment.schema.json");
    ASSERT_TRUE(text);
    const auto schema = parse_json(*text);
    ASSERT_TRUE(schema) << schema.error().text();
    const Json& workload = schema->at("$defs").at("workload").at("properties");
    Json names = Json::array(), events = Json::array();
    Json checks = Json::array();
    for (const auto& info : workloads()) (info.check ? checks : names).push_back(info.name);
    for (const auto& info : counters()) events.push_back(info.name);
    EXPECT_EQ(workload.at("workload").at("enum"), names);
    EXPECT_EQ(schema->at("$defs").at("check_name").at("enum"), checks);
    EXPECT_EQ(workload.at("counters").at("items").at("enum"), events);
    for (const auto& info : workloads()) {
        const std::string name(info.name);
        ASSERT_TRUE(schema->at("$defs").contains(name)) << "add the parameters of " << name << " to the schema";
        const Json& parameters = schema->at("$defs").at(name).at("properties");
        EXPECT_EQ(parameters.size(), info.parameters.size());
        for (const auto& parameter : info.parameters) {
            ASSERT_TRUE(parameters.contains(parameter.name)) << name << "." << parameter.name;
            const Json& described = parameters.at(std::string(parameter.name));
            EXPECT_EQ(described.at("minimum"), parameter.least) << parameter.name;
            EXPECT_EQ(described.at("maximum"), parameter.most) << parameter.name;
            EXPECT_EQ(described.at("default"), parameter.fallback) << parameter.name;
        }
    }
}

}  // namespace
}  // namespace kab
