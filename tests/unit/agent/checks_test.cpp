// The self-checks' own parts. Whether a kernel passes them is for a guest to show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "agent/guest/workloads/checked_child.h"
#include "agent/guest/workloads/ipcns_objects.h"
#include "agent/guest/workloads/leak_search.h"
#include "agent/guest/workloads/proc_check.h"

namespace kab::guest {
namespace {

using testing::HasSubstr;

RunContext context(std::map<std::string, std::int64_t> with) {
    return {std::move(with), std::chrono::seconds(30)};
}

Status run(Workload& check, const RunContext& context) {
    if (auto prepared = check.prepare(context); !prepared) return prepared;
    Meter meter({});
    auto samples = check.run(context, meter);
    if (!samples) return pass(samples);
    EXPECT_TRUE(samples->empty()) << "a check measures nothing";
    samples = check.drain(context, meter);
    return samples ? Status() : Status(pass(samples));
}

TEST(CheckedChild, TellsItsErrorOrHowItEnded) {
    auto good = CheckedChild::start("a", [] { return Status(); });
    ASSERT_TRUE(good);
    EXPECT_TRUE(good->wait());
    auto bad = CheckedChild::start("reader 3", [] { return Status(fail(Fault::io, "read 2 bytes, expected 3")); });
    ASSERT_TRUE(bad);
    EXPECT_EQ(bad->wait().error().text(), "reader 3: read 2 bytes, expected 3");
    auto killed = CheckedChild::start("c", [] {
        ::raise(SIGKILL);
        return Status();
    });
    ASSERT_TRUE(killed);
    EXPECT_THAT(killed->wait().error().text(), HasSubstr("c was killed by signal 9"));
}

TEST(CheckedChild, IsSeenToHaveEndedAndStillTellsHow) {
    int go[2];
    ASSERT_EQ(::pipe(go), 0);
    auto child = CheckedChild::start("f", [&] {
        ::close(go[1]);
        char byte = 0;
        (void)!::read(go[0], &byte, 1);
        return Status(fail(Fault::io, "too early"));
    });
    ASSERT_TRUE(child);
    ::close(go[0]);
    EXPECT_FALSE(child->has_ended().value());
    ::close(go[1]);
    while (!child->has_ended().value()) ::sched_yield();
    EXPECT_EQ(child->wait().error().text(), "f: too early");
}

/// The verdict on batches after which so much is in use.
Status search(const std::vector<std::int64_t>& used) {
    std::size_t at = 0;
    LeakSearch search;
    search.batch_name = "batch of 2 things";
    search.least_leak_bytes = 100;
    search.carry_out = [] { return Status(); };
    search.measure = [&]() -> Result<std::int64_t> { return used.at(at++); };
    return expect_no_leak(search);
}

TEST(LeakSearch, WhatGrowsWithEachBatchIsALeak) {
    std::vector<std::int64_t> used;
    for (int batch = 0; batch < most_batches; ++batch) used.push_back(batch * 200);
    const auto leak = search(used);
    ASSERT_FALSE(leak);
    EXPECT_EQ(leak.error().text(),
              "each batch of 2 things leaves memory behind: 15 of them took 3000 bytes (SUnreclaim; in all: 0, 200, "
              "400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600, 2800, 3000), expected less than "
              "100 each");
}

TEST(LeakSearch, OneBatchThatDoesNotGrowIsNoAcquittal) {
    std::vector<std::int64_t> used{0, 200, 400, 400};
    while (used.size() < most_batches) used.push_back(used.back() + 200);
    EXPECT_FALSE(search(used));
}

TEST(LeakSearch, ACacheThatGrowsAtFirstAndFiguresThatSwingAreNone) {
    EXPECT_TRUE(search({0, 5000, 6000, 6050, 6000, 6090}));
    EXPECT_TRUE(search({0, 900, 100, 800, 50}));
    EXPECT_TRUE(search({0, 20, 60, 90}));
}

TEST(CheckedChild, AnErrorOfAnyLengthIsCutNotLost) {
    auto child = CheckedChild::start("d", [] { return Status(fail(Fault::io, "{}", std::string(5000, 'x'))); });
    ASSERT_TRUE(child);
    EXPECT_THAT(child->wait().error().text(), testing::StartsWith("d: xxxx"));
}

TEST(CheckedChild, OneThatNobodyWaitedForIsEnded) {
    {
        auto child = CheckedChild::start("e", [] {
            for (;;) ::pause();
            return Status();
        });
        ASSERT_TRUE(child);
    }
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ProcCheck, PassesOnThisKernel) {
    const auto check = make_proc_check();
    const auto passed = run(*check, context({{"tasks", 3}, {"loops", 5}}));
    EXPECT_TRUE(passed) << passed.error().text();
}

TEST(ProcRemovalCheck, NamesThePatchThatTheKernelLacks) {
    const auto check = make_proc_removal_check();
    const auto passed = run(*check, context({{"rounds", 1}, {"readers", 1}}));
    ASSERT_FALSE(passed);
    EXPECT_THAT(passed.error().text(), HasSubstr("patches/linux-6.1/proc-read/test"));
    EXPECT_THAT(passed.error().text(), HasSubstr("'only: debug'"));
}

/// In an ipc namespace of the child's own, where the kernel allows one.
TEST(IpcnsObjects, AreFoundInTheirNamespaceAndInNoOther) {
    auto child = CheckedChild::start("child", []() -> Status {
        if (::unshare(CLONE_NEWIPC) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWIPC) != 0)
            return fail(Fault::infra, "may not make an ipc namespace");
        if (auto none = expect_no_semaphore(); !none) return none;
        if (auto filled = fill_namespace(7); !filled) return filled;
        if (expect_semaphore(8)) return fail(Fault::io, "a value that is not there was found");
        if (expect_no_semaphore()) return fail(Fault::io, "a set that is there was not found");
        if (make_semaphore(7)) return fail(Fault::io, "a set was made a second time");
        if (auto removed = remove_semaphore(); !removed) return removed;
        return expect_no_semaphore();
    });
    ASSERT_TRUE(child);
    const auto done = child->wait();
    if (!done && done.error().text().ends_with("may not make an ipc namespace")) GTEST_SKIP() << done.error().text();
    EXPECT_TRUE(done) << done.error().text();
}

}  // namespace
}  // namespace kab::guest
