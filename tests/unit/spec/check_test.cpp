// The API takes an experiment as JSON: what no YAML file could ask for must be refused there, too.
#include "daemon/spec/check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/spec/experiment_json.h"
#include "daemon/spec/parse.h"

namespace kab {
namespace {

const char* const good = R"(
experiment: small
kernel: {source: {git: /src/linux, ref: v6.1}, command_line: quiet}
arms:
  base: {}
  change: {patches: [a.patch]}
  more: {patches: [b.patch], against: change}
workloads:
  - workload: ipcns-exit
    sweep: {children: [10, 100]}
    counters: [task-clock]
    profile: {groups: {lock: {symbols: [_raw_spin_lock], callers: [ipc_lock]}}}
decide: {looks: [3, 4]}
)";

Json good_json() {
    auto parsed = parse_experiment(good, "small.yaml");
    EXPECT_TRUE(parsed) << parsed.error().front().text();
    return to_json(parsed->experiment);
}

struct Change {
    const char *name, *pointer, *value, *where, *message;
};

class CheckTest : public testing::TestWithParam<Change> {};

TEST(CheckExperiment, TakesWhatTheParserGives) {
    EXPECT_TRUE(experiment_from_json(good_json()));
}

TEST_P(CheckTest, IsRefusedByTheNameOfItsKey) {
    const Change& change = GetParam();
    Json json = good_json();
    json[Json::json_pointer(change.pointer)] = Json::parse(change.value);
    const auto result = experiment_from_json(json);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().fault, Fault::spec);
    EXPECT_EQ(result.error().where, change.where);
    EXPECT_THAT(result.error().message, testing::HasSubstr(change.message));
}

INSTANTIATE_TEST_SUITE_P(
    , CheckTest,
    testing::Values(
        Change{"Name", "/experiment", R"("Small one")", "experiment", "must be a name"},
        Change{"Question", "/question", R"("a\nb")", "question", "one line"},
        Change{"NoArms", "/arms", "[]", "arms", "from 2 to 32, not 0"},
        Change{"ArmName", "/arms/1/name", R"("A'")", "arms", "the name of arm 2"},
        Change{"ArmTwice", "/arms/1/name", R"("base")", "arms.base", "twice"},
        Change{"BaselineAgainst", "/arms/0/against", R"("change")", "arms.base.against", "baseline"},
        Change{"LaterArm", "/arms/1/against", R"("more")", "arms.change.against", "earlier arm"},
        Change{"NoPath", "/arms/1/source/git", R"("")", "arms.change.source", "empty"},
        Change{"OptionAsUrl", "/arms/1/source/git", R"("--upload-pack=x")", "arms.change.source.git", "URL"},
        Change{"RemoteHelper", "/arms/1/source/git", R"("ext::sh")", "arms.change.source.git", "URL"},
        Change{"ControlInPath", "/arms/1/source/git", R"("/a\u001b[2J")", "arms.change.source", "control characters"},
        Change{"ControlInRef", "/arms/1/source/ref", R"("a\u0001")", "arms.change.source.ref", "control characters"},
        Change{"PatternAsRef", "/arms/1/source/ref", R"("v6.*")", "arms.change.source.ref", "commit"},
        Change{"OptionAsRef", "/arms/1/source/ref", R"("-x")", "arms.change.source.ref", "commit"},
        Change{"PatchesOfAnImage", "/arms/1/source", R"({"image": "/vmlinux"})", "arms.change", "not built"},
        Change{"ModulesOfAGit", "/arms/1/source/modules", R"("/m")", "arms.change.source.modules", "image"},
        Change{"Delete", "/arms/1/command_line", R"("a\u007f")", "arms.change.command_line", "control characters"},
        Change{"TwoLines", "/arms/1/command_line", R"("a\nb")", "arms.change.command_line", "one line"},
        Change{"NoWorkloads", "/workloads", "[]", "workloads", "from 1 to 32"},
        Change{"UnknownWorkload", "/workloads/0/workload", R"("x")", "workloads.x", "no workload"},
        Change{"Iterations", "/workloads/0/iterations", "0", "workloads.ipcns-exit.iterations",
               "from 1 to 1000, not 0"},
        Change{"Score", "/workloads/0/score", R"("p100")", "workloads.ipcns-exit.score", "must be mean, median"},
        Change{"Warmup", "/workloads/0/warmup", "-1", "workloads.ipcns-exit.warmup", "from 0"},
        Change{"Counter", "/workloads/0/counters", R"(["nosuch"])", "workloads.ipcns-exit.counters", "no counter"},
        Change{"CounterTwice", "/workloads/0/counters", R"(["cycles", "cycles"])", "workloads.ipcns-exit.counters",
               "twice"},
        Change{"Frequency", "/workloads/0/profile/frequency", "10001", "workloads.ipcns-exit.profile.frequency",
               "from 1 to 10000, not 10001"},
        Change{"Profiled", "/workloads/0/profile/iterations", "0", "workloads.ipcns-exit.profile.iterations",
               "from 1 to 1000, not 0"},
        Change{"GroupName", "/workloads/0/profile/groups/0/name", R"("a b")", "workloads.ipcns-exit.profile.groups",
               "a name that is not accepted"},
        Change{"GroupTwice", "/workloads/0/profile/groups",
               R"([{"name": "a", "symbols": ["x"], "callers": []}, {"name": "a", "symbols": ["y"], "callers": []}])",
               "workloads.ipcns-exit.profile.groups.a", "twice"},
        Change{"GroupOfNothing", "/workloads/0/profile/groups/0/symbols", "[]",
               "workloads.ipcns-exit.profile.groups.lock.symbols", "from 1 to 64, not 0"},
        Change{"GroupOfAll", "/workloads/0/profile/groups/0/symbols", R"(["*"])",
               "workloads.ipcns-exit.profile.groups.lock.symbols", "not all '*'"},
        Change{"CallerTwice", "/workloads/0/profile/groups/0/callers", R"(["a", "a"])",
               "workloads.ipcns-exit.profile.groups.lock.callers", "has a twice"},
        Change{"GroupBetter", "/workloads/0/profile/groups/0/better", R"("faster")", "",
               "is \"faster\", expected lower or higher"},
        Change{"GroupOf", "/workloads/0/profile/groups/0/of", R"("user")", "", "is \"user\", expected kernel or all"},
        Change{"ShareOfNoDirection", "/decide/primary", R"("ipcns-exit/share:lock")", "decide.primary",
               "needs a direction"},
        Change{"NoSuchGroup", "/decide/primary", R"("ipcns-exit/share:locks")", "decide.primary", "must be one of"},
        Change{"CountersNeverOn", "/workloads/0/counter_iterations", "0", "workloads.ipcns-exit.counter_iterations",
               "from 1"},
        Change{"ParameterMissing", "/workloads/0/with", "{}", "workloads.ipcns-exit", "must have concurrency once"},
        Change{"ParameterUnknown", "/workloads/0/with/nosuch", "1", "workloads.ipcns-exit", "does not know"},
        Change{"ParameterRange", "/workloads/0/with/concurrency", "-1", "workloads.ipcns-exit.concurrency", "from 0"},
        Change{"ParameterTwice", "/workloads/0/with/children", "5", "workloads.ipcns-exit", "children once"},
        Change{"SweepOfNothing", "/workloads/0/sweep/children", "[]", "workloads.ipcns-exit.sweep.children", "from 1"},
        Change{"SweepTwice", "/workloads/0/sweep/children", "[5, 5]", "workloads.ipcns-exit.sweep.children", "twice"},
        Change{"TooManyRuns", "/workloads/0/iterations", "1000", "workloads", "2006 runs a boot"},
        Change{"HostKind", "/host/kind", R"("abacus")", "host.kind", "qemu"},
        Change{"Cpus", "/host/cpus", "257", "host.cpus", "from 1 to 256"},
        Change{"Memory", "/host/memory_bytes", "1", "host.memory", "from"},
        Change{"Primary", "/decide/primary", R"("ipcns-exit/cycles")", "decide.primary", "ipcns-exit/elapsed"},
        Change{"AtHalfAPoint", "/decide/at", R"({"concurrency": 0})", "decide.at", "a point of the sweep"},
        Change{"AtMoreThanAPoint", "/decide/at", R"({"children": 10, "concurrency": 0})", "decide.at",
               "all that is swept"},
        Change{"AtNoPoint", "/decide/at", R"({"children": 11})", "decide.at", "a point of the sweep"},
        Change{"Margin", "/decide/margin", "0", "decide.margin", "above 0"},
        Change{"Alpha", "/decide/alpha", "0.9", "decide.alpha", "at most 0.5"},
        Change{"NoLooks", "/decide/looks", "[]", "decide.looks", "from 1"},
        Change{"LookRange", "/decide/looks", "[1]", "decide.looks", "from 2 to 1000"},
        Change{"LooksDescend", "/decide/looks", "[4, 3]", "decide.looks", "ascend"},
        Change{"FixedIsNoLook", "/decide/fixed", "5", "decide.fixed", "only look"},
        Change{"ExcludeNothing", "/exclude/steal", "0", "exclude.steal", "above 0 and at most 1"},
        Change{"ExcludeLoad", "/exclude/host-load", "1001", "exclude.host-load", "at most 1000"},
        Change{"ExcludeDelay", "/exclude/run-delay", "1.5", "exclude.run-delay", "at most 1"},
        Change{"ExcludeCanary", "/exclude/canary", "-1", "exclude.canary", "above 0 and at most 10"},
        Change{"Limit", "/limits/run_ns", "-1", "limits.run", "from 10ms"},
        Change{"BootBeyondBlock", "/limits/boot_ns", "1200000000001", "limits.boot", "at most limits.block"},
        Change{"BlockBeyondEvaluation", "/limits/evaluation_ns", "1199999999999", "limits.block",
               "at most limits.evaluation"}),
    [](const auto& change) { return change.param.name; });

TEST(CheckExperiment, RepositoriesAreToldFromOptionsAndHelpers) {
    for (const char* yes : {"https://[::1]/linux.git", "ssh://git@[2001:db8::2]:22/linux", "[::1]:linux", "/src/a::b",
                            "git@host:linux", "linux"})
        EXPECT_TRUE(may_be_repository(yes)) << yes;
    for (const char* no : {"ext::sh -c x", "EXT::x", "git+x.y-z::u", "::x", "-u", "--upload-pack=x"})
        EXPECT_FALSE(may_be_repository(no)) << no;
}

TEST(CheckExperiment, WhatTicksTellIsNoPrimaryOfExactMode) {
    const auto with_ps = [](const std::string& host) {
        return parse_experiment(fmt::format(R"(
experiment: listing
kernel: {{source: {{tarball: linux.tar.xz}}}}
arms: {{base: {{}}, new: {{patches: [a.patch]}}}}
workloads: [{{workload: ps}}]
host: {}
)",
                                            host),
                                "listing.yaml");
    };
    const auto by_time = with_ps("{cpus: 2}"), exact = with_ps("{exact: true}");
    ASSERT_TRUE(by_time);
    ASSERT_TRUE(exact);
    EXPECT_EQ(by_time->experiment.decide.primary, "ps/system-time");
    EXPECT_EQ(exact->experiment.decide.primary, "ps/elapsed");
    Json json = to_json(exact->experiment);
    EXPECT_TRUE(experiment_from_json(json));
    json["decide"]["primary"] = "ps/system-time";
    const auto refused = experiment_from_json(json);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, "decide.primary");
    EXPECT_THAT(refused.error().message, testing::HasSubstr("must be one of ps/elapsed, ps/busy, ps/idle"));
}

TEST(CheckExperiment, NumbersThatDoNotFitAreNoNumbers) {
    for (const char* number : {"4294967297", "1.5", "true", "\"1\"", "18446744073709551615"}) {
        Json json = good_json();
        json["host"]["cpus"] = Json::parse(number);  // the first is 1 in 32 bits
        const auto result = experiment_from_json(json);
        ASSERT_FALSE(result) << number;
        EXPECT_EQ(result.error().fault, Fault::spec);
    }
}

}  // namespace
}  // namespace kab
