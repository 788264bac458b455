// What the arms have in common and what not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "daemon/report/compose.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using test::changed;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The two lists of the section: label or arm -> text.
struct Setup {
    std::map<std::string, std::string> common, arms;
};

Setup setup_of(const ReportInput& report) {
    Setup setup;
    bool first = true;
    for (const auto& part : setup_section(report).parts) {
        const auto* pairs = std::get_if<Pairs>(&part);
        if (pairs == nullptr) continue;
        for (const auto& [name, text] : pairs->rows) (first ? setup.common : setup.arms)[name] = plain(text);
        first = false;
    }
    return setup;
}

/// Changes one member of an arm in the stored experiment.
void declare(ReportInput& rows, const std::string& arm, const char* key, const Json& value) {
    auto json = parse_json(rows.tree.evaluation.experiment_json);
    ASSERT_TRUE(json);
    for (auto& one : json->at("arms"))
        if (one.at("name") == arm) one[key] = value;
    rows.tree.evaluation.experiment_json = dump_json(*json);
}

TEST(Setup, SameCodeIsNoiseOnlyWhenBootedInTheSameWay) {
    test::SampleOptions options;
    options.same_code = true;
    EXPECT_THAT(setup_of(changed(options, [](ReportInput&) {})).common["code"], HasSubstr("is noise"));
    const auto other = setup_of(
        changed(options, [](ReportInput& rows) { declare(rows, "deferred-free", "command_line", "mitigations=off"); }));
    auto common = other.common, arms = other.arms;
    EXPECT_THAT(common["code"], AllOf(HasSubstr("same machine code"), Not(HasSubstr("noise")),
                                      HasSubstr("differ in what they are booted with")));
    EXPECT_THAT(arms["deferred-free"], HasSubstr("boot options: mitigations=off"));
    EXPECT_THAT(arms["per-ns-work"], HasSubstr("boot options: none"));
}

TEST(Setup, AnArmThatNeverSaidHelloTakesNothingFromTheOthers) {
    auto setup = setup_of(changed({}, [](ReportInput& rows) {
        for (auto& boot : rows.boots)
            if (boot.arm == "deferred-free") boot.environment.clear();
    }));
    EXPECT_THAT(setup.arms["deferred-free"], HasSubstr("no boot of it said hello"));
    EXPECT_EQ(setup.common["kernel release"], "6.1.158");
}

TEST(Setup, AFragmentOfOneArmIsNotCommon) {
    auto setup = setup_of(changed({}, [](ReportInput& rows) {
        declare(rows, "inline-free", "config", Json::array());
        declare(rows, "per-ns-work", "config", Json::array());
    }));
    EXPECT_FALSE(setup.common.contains("fragments"));
    EXPECT_THAT(setup.arms["deferred-free"], HasSubstr("fragments: vm.config"));
    EXPECT_THAT(setup.arms["inline-free"], HasSubstr("fragments: none"));
}

TEST(Setup, AnUnknownValueIsADifference) {
    auto setup = setup_of(changed({}, [](ReportInput& rows) { rows.kernels[1].compiler.clear(); }));
    EXPECT_FALSE(setup.common.contains("compiler"));
    EXPECT_THAT(setup.arms["per-ns-work"], HasSubstr("compiler: unknown"));
    EXPECT_THAT(setup.arms["inline-free"], HasSubstr("compiler: gcc"));
}

TEST(Setup, OfAPrebuiltImageTheConfigurationIsNotKnown) {
    auto setup = setup_of(changed({}, [](ReportInput& rows) {
        for (const char* arm : {"inline-free", "per-ns-work", "deferred-free"})
            declare(rows, arm, "source", Json{{"image", "/boot/vmlinux"}});
        for (auto& kernel : rows.kernels) {
            kernel.config_hash = "01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b";
            kernel.compiler.clear();
            kernel.patches = "[]";
        }
    }));
    EXPECT_EQ(setup.common["config"], "prebuilt, unknown");
    EXPECT_FALSE(setup.common.contains("patches"));
    EXPECT_FALSE(setup.common.contains("compiler"));
}

TEST(Setup, SaysWhatRanInABoot) {
    EXPECT_EQ(setup_of(changed({}, [](ReportInput&) {})).common["workload"],
              "ipcns-exit, children 1000; 5 timed iterations after 1 warm-up, 2 with counters");
    test::SampleOptions options;
    options.swept = true;
    EXPECT_THAT(setup_of(changed(options, [](ReportInput&) {})).common["workload"],
                HasSubstr("ipcns-exit, children 1000; at concurrency 0 (all at once), 1; "));
}

}  // namespace
}  // namespace kab::report
