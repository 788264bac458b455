#include "cli/progress.h"

#include <gtest/gtest.h>

#include "cli/command.h"
#include "common/files.h"

namespace kab::cli {
namespace {

using std::chrono::seconds;

api::Progress building(std::int64_t done) {
    api::Progress progress{"U", "build", "change", "compile"};
    progress.done = done;
    progress.total = 760;
    progress.left_ns = std::chrono::nanoseconds(seconds(200)).count();
    return progress;
}

api::Progress booting(std::int64_t block, std::int64_t boot) {
    api::Progress progress{"U", "boot", "base", "running", 3, 4};
    progress.block = block;
    progress.blocks = 6;
    progress.boot = boot;
    progress.boots = 18;
    return progress;
}

/// A view that writes to a file, and what it wrote.
class ViewTest : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_NE(file_, nullptr); }
    void TearDown() override { std::fclose(file_); }
    std::string written() {
        std::fflush(file_);
        std::rewind(file_);
        std::string text(1U << 16, '\0');
        text.resize(std::fread(text.data(), 1, text.size(), file_));
        return text;
    }
    FILE* file_ = std::tmpfile();
    SteadyPoint now_{};
};

TEST(Describe, SaysPhaseStepAndTimeLeft) {
    EXPECT_EQ(describe(building(412)), "build change: compile 412/760, about 3m 20s left");
    EXPECT_EQ(describe(building(412), seconds(80)), "build change: compile 412/760, about 2m 00s left");
    EXPECT_EQ(describe(building(412), seconds(300)), "build change: compile 412/760, nearly there");
    EXPECT_EQ(describe(booting(2, 4)), "block 2/6, boot 5/18: base run 3/4");
    EXPECT_EQ(describe(api::Progress{"U", "freeze", "a", "import"}), "freeze a: import");
    EXPECT_EQ(describe(api::Progress{"U", "build", "a", "compile", 425, 425}), "build a: compile 425");
    EXPECT_EQ(describe(api::Progress{"U", "build", "a", "compile", 425, 0}), "build a: compile 425");
    EXPECT_EQ(describe(api::Progress{"U", "build", "a", "waiting"}),
              "build a: waiting for another build or measurement on this machine");
    auto waiting = booting(1, 0);
    waiting.step = "waiting";
    EXPECT_EQ(describe(waiting), "block 1/6, boot 1/18: base waiting for another build or measurement on this machine");
}

TEST(Describe, ChecksAreNoBlockButHaveBoots) {
    auto checking = booting(0, 1);
    checking.phase = "check";
    checking.boots = 4;
    EXPECT_EQ(describe(checking), "checking, boot 2/4: base run 3/4");
    EXPECT_DOUBLE_EQ(share_done(checking).value(), 0.25);
    const auto block = [](const char* name, const char* to) {
        return describe(api::Transition{1, 2, "U", "block", name, "running", to, to[0] == 'e' ? "too long" : ""});
    };
    EXPECT_EQ(block("0", "complete"), "checks done");
    EXPECT_EQ(block("0.2", "excluded"), "checks excluded: too long");
    EXPECT_EQ(block("10", "complete"), "block 10 done");
    EXPECT_EQ(describe(api::Failure{"B", 0, "base'debug", "hang", "no hello", ""}),
              "check of base'debug: hang: no hello");
}

TEST(Describe, BarShowsBootsOrTheStepOfTheBuild) {
    EXPECT_EQ(bar(0, 4), "[....]");
    EXPECT_EQ(bar(0.5, 4), "[##..]");
    EXPECT_EQ(bar(1, 4), "[####]");
    EXPECT_DOUBLE_EQ(share_done(booting(1, 9)).value(), 0.5);
    EXPECT_DOUBLE_EQ(share_done(building(380)).value(), 0.5);
    EXPECT_FALSE(share_done(building(10000))) << "more than were expected: nobody knows";
    EXPECT_FALSE(share_done(api::Progress{"U", "freeze", "", ""}));
}

TEST_F(ViewTest, LinesComeWithAChangeOrAfterFiveSeconds) {
    ProgressView view(file_, ProgressView::Style::lines);
    for (int i = 0; i < 12; ++i) view.show(building(i), now_ + seconds(i));
    view.show(booting(1, 0), now_ + seconds(12));
    view.show(booting(1, 1), now_ + seconds(13));
    view.show(booting(2, 3), now_ + seconds(14));
    view.show(booting(2, 3), now_ + seconds(60));  // nothing new to say
    EXPECT_EQ(written(),
              "kab: build change: compile 0/760, about 3m 20s left\n"
              "kab: build change: compile 5/760, about 3m 20s left\n"
              "kab: build change: compile 10/760, about 3m 20s left\n"
              "kab: block 1/6, boot 1/18: base run 3/4\n"
              "kab: block 2/6, boot 4/18: base run 3/4\n");
}

TEST_F(ViewTest, TerminalRedrawsOneLineAndTakesItAway) {
    {
        ProgressView view(file_, ProgressView::Style::terminal);
        view.show(booting(1, 9), now_);
        view.note("arm change failed");
        view.tick(now_ + std::chrono::milliseconds(500));  // too early
        view.tick(now_ + seconds(2));
    }
    const std::string line = "\r[########........] block 1/6, boot 10/18: base run 3/4\x1b[K";
    EXPECT_EQ(written(), line + "\r\x1b[Kkab: arm change failed\n" + line + "\r\x1b[K");
}

TEST_F(ViewTest, TimeLeftOfABuildIsEstimatedFromItsPace) {
    ProgressView view(file_, ProgressView::Style::lines);
    auto progress = building(100);
    progress.left_ns = 0;
    view.show(progress, now_);
    progress.done = 110;
    view.show(progress, now_ + seconds(4));  // too early to tell, and no line yet
    progress.done = 160;
    view.show(progress, now_ + seconds(6));
    progress.step = "link";
    progress.done = 1;
    view.show(progress, now_ + seconds(20));
    EXPECT_EQ(written(),
              "kab: build change: compile 100/760\n"
              "kab: build change: compile 160/760, about 1m 00s left\n"
              "kab: build change: link 1/760\n");
}

TEST_F(ViewTest, WaitingIsToldOnceUntilItChanges) {
    {
        ProgressView view(file_, ProgressView::Style::lines);
        view.wait("queued behind a (block 1/6)", now_);
        view.wait("queued behind a (block 1/6)", now_ + seconds(5));
        view.wait("queued behind a (block 2/6)", now_ + seconds(10));
        view.show(booting(1, 0), now_ + seconds(11));
    }
    EXPECT_EQ(written(),
              "kab: queued behind a (block 1/6)\n"
              "kab: queued behind a (block 2/6)\n"
              "kab: block 1/6, boot 1/18: base run 3/4\n");
}

TEST_F(ViewTest, WaitingIsDrawnOnATerminal) {
    ProgressView view(file_, ProgressView::Style::terminal);
    view.wait("queued behind a", now_);
    view.tick(now_ + seconds(2));
    EXPECT_EQ(written(), "\rqueued behind a\x1b[K\rqueued behind a\x1b[K");
}

TEST_F(ViewTest, SilentMeansSilent) {
    ProgressView view(file_, ProgressView::Style::silent);
    view.show(booting(1, 9), now_);
    view.note("x");
    view.tick(now_ + seconds(9));
    EXPECT_EQ(written(), "");
}

TEST(Describe, OnlyTransitionsWorthALineAreTold) {
    const auto of = [](const char* object, const char* to, const char* detail) {
        return describe(api::Transition{1, 2, "U", object, "n", "from", to, detail});
    };
    EXPECT_EQ(of("evaluation", "building", ""), "building");
    EXPECT_EQ(of("evaluation", "failed", "why"), "") << "said at the end";
    EXPECT_EQ(of("arm", "failed", "ipc.c:1: error"), "arm n failed: ipc.c:1: error");
    EXPECT_EQ(of("arm", "building", ""), "");
    EXPECT_EQ(of("block", "complete", ""), "block n done");
    EXPECT_EQ(of("block", "excluded", "interrupted"), "block n excluded: interrupted");
    EXPECT_EQ(of("attempt", "finished", "x"), "");
    EXPECT_EQ(of("host", "down", "no kab-host"), "host n: down: no kab-host");
    EXPECT_EQ(of("host", "up", ""), "") << "it was not known to be down";
    EXPECT_EQ(describe(api::Transition{1, 2, "", "host", "n", "down", "up", ""}), "host n: up again");
    EXPECT_EQ(describe(api::Failure{"B", 3, "base", "hang", "no hello", ""}),
              "boot of base in block 3: hang: no hello");
}

TEST(ExitCode, FollowsWhatTheEvaluationCameTo) {
    struct Outcome {
        const char *status, *verdict, *arm;
        int code;
    };
    for (const auto& [status, verdict, arm, code] : std::vector<Outcome>{
             {"done", "improved", "ready", 0},
             {"done", "equivalent", "ready", 0},
             {"done", "regressed", "ready", 1},
             {"done", "inconclusive", "ready", 4},
             {"done", "invalid", "ready", 4},
             {"done", "", "ready", 4},
             {"done", "improved", "failed", 3},
             {"done", "regressed", "failed", 1},
             {"failed", "", "pending", 3},
             {"cancelled", "", "pending", 130},
         }) {
        api::EvaluationDetail detail;
        detail.evaluation.status = status;
        detail.evaluation.verdict = verdict;
        detail.arms.resize(1);
        detail.arms[0].status = arm;
        EXPECT_EQ(exit_code(detail), code) << status << " " << verdict << " " << arm;
    }
    api::EvaluationDetail relinked;  // it is there to show something, and is no question
    relinked.evaluation.status = "done";
    relinked.evaluation.verdict = "improved";
    relinked.arms.resize(1);
    relinked.arms[0].name = "A'relinked";
    relinked.arms[0].status = "failed";
    EXPECT_EQ(exit_code(relinked), 0);
    EXPECT_EQ(exit_code(Fault::spec), 2);
    EXPECT_EQ(exit_code(Fault::not_found), 2);
    EXPECT_EQ(exit_code(Fault::build), 3);
    EXPECT_EQ(exit_code(Fault::cancelled), 130);
}

}  // namespace
}  // namespace kab::cli
