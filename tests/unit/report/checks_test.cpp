// What a report says of self-checks: what failed comes before anything else, and is in no figure.
#include "daemon/report/checks.h"

#include <gmock/gmock.h>

#include "daemon/report/compose.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* crash = "BUG: sleeping function called from invalid context at mm/slab.h:1";

/// The sample with a check block in which one kernel ends otherwise than ok; as the coordinator leaves it.
struct Checked {
    std::string wrong;  ///< a kernel: an arm or its debug variant; empty: none
    std::string outcome = "workload-error";
    bool debug = true;

    void operator()(ReportInput& rows) const {
        auto experiment = *parse_json(rows.tree.evaluation.experiment_json);
        experiment["checks"] = {{{"check", "ipcns-check"}, {"with", Json::object()}, {"debug_only", false}}};
        rows.tree.evaluation.experiment_json = dump_json(experiment);
        store::BlockRow block;
        block.id = 9000;
        block.number = 0;
        block.status = "complete";
        rows.tree.blocks.insert(rows.tree.blocks.begin(), block);
        const auto arms = rows.tree.arms;
        for (const auto& arm : arms)
            if (!arm.control) boot(rows, arm.name);
        for (const auto& arm : arms) {
            if (!debug || arm.control) continue;
            auto variant = arm;
            variant.name += "'debug";
            variant.against.clear();
            variant.role = "debug";
            rows.tree.arms.push_back(variant);
            rows.kernels.emplace_back();
            boot(rows, variant.name);
        }
        const auto of = [](const std::string& name) { return name.substr(0, name.find("'debug")); };
        for (auto& arm : rows.tree.arms) {
            if (wrong.empty() || (of(arm.name) != of(wrong) && !(arm.control && arm.against == of(wrong)))) continue;
            arm.status = "stopped";
            arm.detail = fmt::format("failed its checks (ipcns-check) {}: {}: {}",
                                     of(wrong) == wrong ? "as it is" : "on its debug variant", outcome, crash);
            std::erase_if(rows.samples, [&](const auto& sample) { return sample.arm == arm.name; });
        }
    }

  private:
    void boot(ReportInput& rows, const std::string& arm) const {
        store::BootRow row;
        row.block_id = 9000;
        row.arm = arm;
        row.status = "done";
        row.outcome = arm == wrong ? outcome : "ok";
        rows.tree.boots.push_back(row);
        store::BootReport shown;
        shown.arm = arm;
        shown.outcome = row.outcome;
        shown.detail = arm == wrong ? crash : "";
        shown.block_status = "complete";
        if (row.arm.find("'debug") != std::string::npos) shown.environment = R"({"release": "6.1.0-debug"})";
        rows.boots.push_back(shown);
    }
};

const stats::Comparison& primary(const ReportInput& report, const std::string& arm) {
    for (std::size_t i = 0; i < report.input.arms.size(); ++i)
        if (report.input.arms[i].name == arm) return *primary_of(report, static_cast<int>(i));
    throw std::logic_error("no arm " + arm);
}

TEST(Checks, ThatPassedAreOneLineOfTheSetupAndInNoFigure) {
    const auto plain = changed({}, [](ReportInput&) {});
    const auto report = changed({}, Checked{});
    EXPECT_EQ(claims(report), claims(plain)) << "debug variants and their environment are in no figure";
    EXPECT_EQ(report.input.arms.size(), plain.input.arms.size());
    EXPECT_EQ(report.input.arms[0].boots, plain.input.arms[0].boots) << "Fisher's counts";
    EXPECT_THAT(check_summary(report), HasSubstr("passed on every kernel and its debug variant"));
    EXPECT_THAT(render_text(report), HasSubstr("\nchecks  "));
    EXPECT_THAT(render_text(plain), Not(HasSubstr("\nchecks  ")));
    EXPECT_THAT(render_text(report), Not(HasSubstr("6.1.0-debug")));
    EXPECT_THAT(check_summary(changed({}, Checked{"", "", false})), HasSubstr("there were no debug variants"));
}

/// One of the arms is an image, which has no debug variant; `everywhere` or not there are checks of all kernels, too.
ReportInput without_one_variant(bool everywhere, bool none_at_all = false) {
    return changed({}, [=](ReportInput& rows) {
        Checked{}(rows);
        auto experiment = *parse_json(rows.tree.evaluation.experiment_json);
        if (!everywhere) experiment["checks"] = Json::array();
        experiment["checks"].push_back(
            {{"check", "proc-removal-check"}, {"with", Json::object()}, {"debug_only", true}});
        rows.tree.evaluation.experiment_json = dump_json(experiment);
        auto& arms = rows.tree.arms;
        for (std::size_t i = arms.size(); i-- > 0;) {
            if (arms[i].role != "debug" || (arms[i].name != "per-ns-work'debug" && !none_at_all)) continue;
            const auto name = arms[i].name;
            std::erase_if(rows.tree.boots, [&](const auto& boot) { return boot.arm == name; });
            std::erase_if(rows.boots, [&](const auto& boot) { return boot.arm == name; });
            arms.erase(arms.begin() + static_cast<std::ptrdiff_t>(i));
            rows.kernels.erase(rows.kernels.begin() + static_cast<std::ptrdiff_t>(i));
        }
    });
}

TEST(Checks, PassedOnlyWhereTheyRan) {
    EXPECT_EQ(check_summary(without_one_variant(false)),
              "proc-removal-check (on debug variants only): passed on inline-free'debug, deferred-free'debug before "
              "anything was timed; no debug variant of per-ns-work");
    EXPECT_EQ(check_summary(without_one_variant(true)),
              "ipcns-check, proc-removal-check (on debug variants only): passed on inline-free, per-ns-work, "
              "deferred-free, inline-free'debug, deferred-free'debug before anything was timed; no debug variant of "
              "per-ns-work");
    EXPECT_EQ(check_summary(without_one_variant(true, true)),
              "ipcns-check: passed on every kernel (there were no debug variants) before anything was timed; "
              "proc-removal-check not run, as there are no debug variants");
    EXPECT_EQ(check_summary(without_one_variant(false, true)),
              "proc-removal-check not run, as there are no debug variants");
}

TEST(Checks, AnArmWhoseDebugVariantFailsIsWrongBeforeAnythingElseIsSaid) {
    const auto report = changed({}, Checked{"deferred-free'debug", "kernel-crash"});
    const auto said = claims(report);
    EXPECT_EQ(said.front(), fmt::format("WRONG: deferred-free failed its checks (ipcns-check) on its debug variant: "
                                        "kernel-crash: {}. It is not timed.",
                                        crash));
    for (std::size_t i = 1; i < said.size(); ++i) EXPECT_THAT(said[i], Not(HasSubstr("deferred-free against")));
    EXPECT_EQ(primary(report, "deferred-free").verdict, stats::Verdict::regressed);
    EXPECT_EQ(primary(report, "deferred-free").reason, "deferred-free failed its checks");
    EXPECT_EQ(primary(report, "per-ns-work").verdict, stats::Verdict::improved);
    EXPECT_EQ(check_summary(report),
              "ipcns-check: FAILED on deferred-free'debug; passed on inline-free, per-ns-work, deferred-free, "
              "inline-free'debug, per-ns-work'debug");
}

TEST(Checks, AWrongBaselineIsSaidFirstAndNothingIsJudgedAgainstIt) {
    SampleOptions options;
    options.blocks = 0;
    options.status = "failed";
    const auto report = changed(options, Checked{"inline-free"});
    const auto said = claims(report);
    EXPECT_THAT(said.front(), HasSubstr("WRONG: inline-free failed its checks (ipcns-check) as it is"));
    EXPECT_THAT(said.front(), HasSubstr("as it is the baseline, nothing is judged against it."));
    EXPECT_EQ(std::count_if(said.begin(), said.end(), [](const auto& s) { return s.starts_with("WRONG"); }), 1)
        << "the control is the baseline's image";
    EXPECT_NE(primary(report, "per-ns-work").verdict, stats::Verdict::regressed);
}

TEST(Checks, JsonHasEveryKernelWithItsOutcome) {
    const auto json = parse_json(render_json(changed({}, Checked{"deferred-free'debug", "hang"})));
    ASSERT_TRUE(json);
    const auto& checks = json->at("checks");
    EXPECT_EQ(checks.at("checks"), Json({"ipcns-check"}));
    EXPECT_EQ(checks.at("results").size(), 6U);
    int wrong = 0;
    for (const auto& result : checks.at("results")) {
        if (result.at("outcome") == "ok") continue;
        ++wrong;
        EXPECT_EQ(result.at("arm"), "deferred-free");
        EXPECT_EQ(result.at("debug"), true);
        EXPECT_EQ(result.at("outcome"), "hang");
        EXPECT_EQ(result.at("detail"), crash);
    }
    EXPECT_EQ(wrong, 1);
    const auto none = parse_json(render_json(changed({}, [](ReportInput&) {})));
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->at("checks").is_null());
}

}  // namespace
}  // namespace kab::report::test
