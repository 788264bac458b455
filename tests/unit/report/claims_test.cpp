// What a report says first, for evaluations that end in all sorts of ways. Each starts from the sample database and
// changes rows before they are analysed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>

#include "daemon/report/compose.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using test::changed;
using test::SampleOptions;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> plain_claims(const ReportInput& report) {
    auto sentences = claims(report);
    for (auto& sentence : sentences) sentence = plain(std::move(sentence));
    return sentences;
}

/// The sentence about an arm.
std::string claim_of(const ReportInput& report, const std::string& arm) {
    for (const auto& sentence : plain_claims(report))
        if (sentence.rfind(arm + " against ", 0) == 0) return sentence;
    return "";
}

/// Gives `to` the values of `from` in the same block and run, times a factor that depends on the block.
void copy_values(ReportInput& report, const std::string& metric, const std::string& from, const std::string& to,
                 const std::function<double(std::int64_t block)>& factor) {
    std::map<std::pair<std::int64_t, std::int64_t>, double> values;
    for (const auto& sample : report.samples)
        if (sample.arm == from && sample.metric == metric && sample.value)
            values[{sample.block, sample.seq}] = *sample.value;
    for (auto& sample : report.samples)
        if (sample.arm == to && sample.metric == metric)
            sample.value = values.at({sample.block, sample.seq}) * factor(sample.block);
}

TEST(Claims, BeforeAndAfterAgreeWithTheRatio) {
    // One slow boot of the baseline moves an arithmetic mean far more than a geometric one, and one boot that has no
    // partner must not count at all.
    const auto report = changed({}, [](ReportInput& rows) {
        for (auto& sample : rows.samples)
            if (sample.arm == "inline-free" && sample.block == 4 && sample.value) *sample.value *= 9;
        std::erase_if(rows.samples, [](const auto& s) { return s.arm == "deferred-free" && s.block == 5; });
    });
    const auto claim = claim_of(report, "deferred-free");
    std::smatch found;
    ASSERT_TRUE(
        std::regex_search(claim, found, std::regex(R"(elapsed: ([0-9.]+) (m?s) -> ([0-9.]+) (m?s), ratio ([0-9.]+) )")))
        << claim;
    const auto seconds = [&](int i) { return std::stod(found[i]) * (found[i + 1] == "ms" ? 1e-3 : 1); };
    EXPECT_NEAR(seconds(3) / seconds(1), std::stod(found[5]), 0.002) << claim;
    EXPECT_THAT(claim, HasSubstr("n = 5 blocks"));
    EXPECT_THAT(plain_claims(report), Contains(HasSubstr("geometric ones beside a ratio")));
}

TEST(Claims, AnEquivalentPrimaryStillHasItsPrice) {
    const auto report = changed({}, [](ReportInput& rows) {
        copy_values(rows, "elapsed", "inline-free", "deferred-free",
                    [](std::int64_t block) { return block % 2 == 0 ? 1.0005 : 0.9995; });
    });
    const auto* primary = primary_of(report, 2);
    ASSERT_NE(primary, nullptr);
    ASSERT_EQ(primary->verdict, stats::Verdict::equivalent);
    EXPECT_THAT(claim_of(report, "deferred-free"),
                AllOf(HasSubstr("is equivalent within 2%"), HasSubstr("Shown to be worse: ipcns-exit/backlog"),
                      Not(HasSubstr("No other metric"))));
}

TEST(Claims, AnUndecidedPrimaryStillHasItsPrice) {
    const auto report = changed({}, [](ReportInput& rows) {
        copy_values(rows, "elapsed", "inline-free", "deferred-free",
                    [](std::int64_t block) { return block % 2 == 0 ? 1.09 : 0.93; });
        rows.tree.evaluation.experiment_json = std::regex_replace(
            rows.tree.evaluation.experiment_json, std::regex(R"("looks":\[[0-9,]*\])"), R"("looks":[6])");
    });
    const auto* primary = primary_of(report, 2);
    ASSERT_NE(primary, nullptr);
    ASSERT_EQ(primary->verdict, stats::Verdict::inconclusive);
    EXPECT_THAT(claim_of(report, "deferred-free"), AllOf(HasSubstr("cannot tell for ipcns-exit/elapsed"),
                                                         HasSubstr("Shown to be worse: ipcns-exit/backlog")));
}

TEST(Claims, NoPriceIsOnlyClaimedWhereNoneWasShown) {
    const auto report = changed({}, [](ReportInput& rows) {
        for (const char* metric : {"backlog", "machine-busy", "task-clock"})
            copy_values(rows, metric, "inline-free", "deferred-free",
                        [](std::int64_t block) { return block % 2 == 0 ? 1.0005 : 0.9995; });
    });
    EXPECT_THAT(claim_of(report, "deferred-free"), HasSubstr("No other metric was shown to be worse."));
}

TEST(Claims, WhereNothingElseWasMeasuredNoPriceIsDenied) {
    const auto report = changed({}, [](ReportInput& rows) {
        std::erase_if(rows.samples, [](const auto& s) { return s.metric != "elapsed"; });
    });
    EXPECT_THAT(claim_of(report, "deferred-free"),
                AllOf(HasSubstr("No other metric was compared."), Not(HasSubstr("shown to be worse"))));
}

TEST(Claims, APriceThatMayBeSmallIsNotHidden) {
    const auto report = changed({}, [](ReportInput& rows) {
        for (const char* metric : {"machine-busy", "task-clock"})
            copy_values(rows, metric, "inline-free", "deferred-free",
                        [](std::int64_t block) { return block % 2 == 0 ? 1.0005 : 0.9995; });
        copy_values(rows, "backlog", "inline-free", "deferred-free",
                    [](std::int64_t block) { return block % 2 == 0 ? 1.019 : 1.023; });
    });
    EXPECT_THAT(claim_of(report, "deferred-free"),
                AllOf(HasSubstr("Worse, too, though not shown to exceed the margin: ipcns-exit/backlog"),
                      Not(HasSubstr("No other metric"))));
}

TEST(Claims, AControlAsFarOffAsTheEffectIsACaution) {
    const auto with_control = [](double even, double odd) {
        return changed({}, [=](ReportInput& rows) {
            copy_values(rows, "elapsed", "inline-free", "A'",
                        [=](std::int64_t block) { return block % 2 == 0 ? even : odd; });
        });
    };
    const auto noisy = with_control(1.3, 0.8);
    EXPECT_THAT(claim_of(noisy, "deferred-free"), HasSubstr("Caution: the control A', the same kernel as inline-free"));
    EXPECT_THAT(plain(render_text(noisy)), HasSubstr("not shown to differ"));
    const auto calm = with_control(1.002, 0.999);
    EXPECT_THAT(claim_of(calm, "deferred-free"), Not(HasSubstr("Caution")));
}

TEST(Claims, TheControlShowsWhatItCouldHaveSeen) {
    const auto report = changed({}, [](ReportInput&) {});
    const auto text = std::regex_replace(plain(render_text(report)), std::regex("\\s+"), " ");
    EXPECT_TRUE(std::regex_search(
        text, std::regex("not shown to differ; the noise floor: a ratio of [0-9.]+ or [0-9.]+ would have shown")))
        << text;
}

TEST(Claims, AnArmThatKeepsCrashingIsRegressed) {
    SampleOptions options;
    options.blocks = 3;
    options.crashing_arm = "deferred-free";
    options.stopped = true;
    options.interrupted_block = false;
    const auto report = changed(options, [](ReportInput& rows) {
        rows.tree.evaluation.verdict = "regressed";
        rows.tree.evaluation.detail = "nothing is left to compare; stopped or failed: deferred-free";
        // Two arms and the control: per-ns-work never was.
        std::erase_if(rows.samples, [](const auto& s) { return s.arm == "per-ns-work"; });
    });
    EXPECT_THAT(claim_of(report, "deferred-free"),
                AllOf(HasSubstr("regressed (deferred-free keeps crashing)"), HasSubstr("3 boots in a row failed")));
    const auto text = plain(render_text(report));
    EXPECT_THAT(text, Not(HasSubstr("this version of kab")));
    EXPECT_THAT(text, Not(HasSubstr("This is a preview")));
    EXPECT_THAT(text, Not(HasSubstr("pending")));
    EXPECT_THAT(text, Not(HasSubstr("deferred-free against inline-free: no verdict")));
}

TEST(Claims, AnArmThatKeepsCrashingIsNotRegressedWhereItsBaselineCrashesToo) {
    SampleOptions options;
    options.blocks = 3;
    options.crashing_arm = "deferred-free";
    options.stopped = true;
    options.interrupted_block = false;
    const auto report = changed(options, [](ReportInput& rows) {
        rows.tree.evaluation.verdict = "inconclusive";
        rows.tree.evaluation.detail = "nothing is left to compare; stopped or failed: deferred-free";
        std::erase_if(rows.samples, [](const auto& s) { return s.arm == "per-ns-work"; });
        for (auto& boot : rows.tree.boots)
            if (boot.arm == "inline-free") boot.outcome = "kernel-crash";
    });
    EXPECT_THAT(claim_of(report, "deferred-free"),
                AllOf(Not(HasSubstr("regressed")), HasSubstr("stopped (deferred-free keeps crashing)"),
                      HasSubstr("not shown to be worse, as inline-free fails, too: 3 boots in a row failed")));
}

TEST(Claims, ASentenceNamesItsSubjectOnce) {
    SampleOptions options;
    options.blocks = 1;
    options.status = "running";
    const auto report = changed(options, [](ReportInput&) {});
    const auto claim = claim_of(report, "deferred-free");
    EXPECT_THAT(claim, HasSubstr("not compared"));
    EXPECT_EQ(claim.find("deferred-free"), claim.rfind("deferred-free")) << claim;
    EXPECT_EQ(claim.find("ipcns-exit/elapsed"), claim.rfind("ipcns-exit/elapsed")) << claim;
}

TEST(Claims, MoreBlocksAreAdviceOnlyWithinReason) {
    const auto claim = [](double even, double odd) {
        return claim_of(changed({},
                                [=](ReportInput& rows) {
                                    copy_values(rows, "elapsed", "inline-free", "deferred-free",
                                                [=](std::int64_t block) { return block % 2 == 0 ? even : odd; });
                                    rows.tree.evaluation.experiment_json =
                                        std::regex_replace(rows.tree.evaluation.experiment_json,
                                                           std::regex(R"("looks":\[[0-9,]*\])"), R"("looks":[6])");
                                }),
                        "deferred-free");
    };
    // An evaluation that has reached its cap cannot be extended: a new one needs all of the blocks.
    const auto advice = claim(1.001, 1.05);
    std::smatch found;
    const std::regex words(
        R"(A new evaluation of about (\d+) blocks \(decide\.fixed: (\d+)\) would likely settle it\.)");
    ASSERT_TRUE(std::regex_search(advice, found, words)) << advice;
    EXPECT_EQ(found[1], found[2]);
    EXPECT_GT(std::stoi(found[1]), 6) << "more than there were";
    EXPECT_THAT(advice, Not(HasSubstr("more block")));
    EXPECT_THAT(claim(1.6, 0.65), AllOf(Not(HasSubstr("would likely settle")), HasSubstr("will hardly settle it")));
}

TEST(Claims, ArmsOfOneMachineCodeAreNotClaimedToDiffer) {
    SampleOptions options;
    options.same_code = true;
    const auto report = changed(options, [](ReportInput& rows) {
        // deferred-free is now judged against per-ns-work, whose code it has.
        for (auto& arm : rows.tree.arms)
            if (arm.name == "deferred-free") arm.against = "per-ns-work";
    });
    const auto text = plain(render_text(report));
    if (report.output.verdict == stats::Verdict::invalid)
        EXPECT_THAT(text, HasSubstr("INVALID"));
    else
        EXPECT_THAT(plain_claims(report),
                    Contains(StartsWith("deferred-free and per-ns-work are the same machine code")));
    EXPECT_THAT(text, Not(HasSubstr("deferred-free against per-ns-work: ipcns-exit/elapsed improved")));
}

TEST(Claims, AVerdictOfAnEarlierLookSaysSo) {
    SampleOptions options;
    options.blocks = 10;
    const auto report = changed(options, [](ReportInput& rows) { rows.tree.evaluation.looks_done = 2; });
    ASSERT_EQ(report.look, 1);
    const auto* primary = primary_of(report, 2);
    ASSERT_NE(primary, nullptr);
    ASSERT_EQ(primary->decided_at, 0);
    EXPECT_THAT(claim_of(report, "deferred-free"),
                HasSubstr("Decided at look 1 (6 blocks); the figures are those of look 2."));
}

TEST(Claims, WhileItRunsNothingIsSaidToHaveFailed) {
    SampleOptions options;
    options.blocks = 0;
    options.status = "running";
    const auto report =
        changed(options, [](ReportInput& rows) { rows.tree.evaluation.detail = "all kernels are built"; });
    EXPECT_THAT(plain_claims(report), Contains("Nothing was measured yet: no block is complete (evaluation running)."));
    const auto text = plain(render_text(report));
    EXPECT_THAT(text, Not(HasSubstr("all kernels are built")));
    EXPECT_THAT(text, Not(HasSubstr("v_sample")));
}

TEST(Claims, ABuildErrorIsToldByItsFirstLine) {
    SampleOptions options;
    options.failing_build = "per-ns-work";
    const auto report = changed(options, [](ReportInput& rows) {
        for (auto& arm : rows.tree.arms)
            if (arm.name == "per-ns-work") arm.detail += "\nmake: *** [all] Error 2";
    });
    EXPECT_THAT(plain_claims(report),
                Contains(AllOf(HasSubstr("per-ns-work could not be built: ipc/namespace.c:162:9: error: implicit"),
                               Not(HasSubstr("make:")))));
}

TEST(Claims, WhereOnePointDecidesItsTradeIsTheFirstSentence) {
    SampleOptions options;
    options.swept = options.at_one = true;
    const auto report = changed(options, [](ReportInput&) {});
    const auto claim = claim_of(report, "deferred-free");
    EXPECT_THAT(claim, HasSubstr("ipcns-exit/elapsed at concurrency=1 improved, by more than the margin of 2%: "));
    EXPECT_THAT(claim, HasSubstr(" The price: ipcns-exit/backlog at concurrency=1 "));
    EXPECT_THAT(claim, HasSubstr(" A trade, not a win."));
    EXPECT_THAT(claim, Not(HasSubstr("mean over the sweep")));
}

TEST(Claims, ATradeAtOnePointIsToldThoughTheMeanOfTheSweepHidesIt) {
    SampleOptions options;
    options.swept = true;
    // One at a time elapsed rises by about as much as it falls when all go at once; CPU time rises at either point.
    const auto report = changed(options, [](ReportInput& rows) {
        for (auto& sample : rows.samples)
            if (sample.arm == "deferred-free" && sample.point == "concurrency=1" &&
                (sample.metric == "elapsed" || sample.metric == "counted-elapsed"))
                *sample.value /= 0.793 * 0.793;
    });
    const auto claim = claim_of(report, "deferred-free");
    EXPECT_THAT(claim, HasSubstr("no verdict"));
    EXPECT_THAT(claim, HasSubstr(" At concurrency=0 a trade that the mean hides: better ipcns-exit/elapsed at "));
    EXPECT_THAT(claim, HasSubstr("; worse ipcns-exit/backlog at concurrency=0 "));
    EXPECT_THAT(claim, HasSubstr("; ipcns-exit/task-clock at concurrency=0 "));
    EXPECT_THAT(claim, Not(HasSubstr("At concurrency=1 a trade")));
    EXPECT_THAT(claim_of(report, "per-ns-work"), Not(HasSubstr("that the mean hides"))) << "its mean tells it";

    // The same at the other point as well: one sentence.
    auto both = report;
    const auto elsewhere = [&](int comparison) {
        const auto& all = both.output.comparisons;
        const auto& one = all[static_cast<std::size_t>(comparison)];
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].arm == one.arm && all[i].metric == one.metric && all[i].series >= 0 &&
                all[i].series != one.series)
                return static_cast<int>(i);
        return comparison;
    };
    for (const auto& trade : report.output.trades)
        if (trade.at_point)
            both.output.trades.push_back(
                {trade.arm, elsewhere(trade.better_comparison), elsewhere(trade.worse_comparison), true});
    const auto told = claim_of(both, "deferred-free");
    EXPECT_THAT(told, HasSubstr(" At 2 points a trade that the mean hides (concurrency="));
    EXPECT_THAT(told, HasSubstr("); at the first: better ipcns-exit/elapsed at "));
    EXPECT_EQ(told.find("that the mean hides"), told.rfind("that the mean hides"));
}

}  // namespace
}  // namespace kab::report
