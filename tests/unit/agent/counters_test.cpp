#include "agent/guest/perf/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/guest/perf/meter.h"
#include "common/workload_catalog.h"

namespace kab::guest {
namespace {

/// Uses CPU time in a child and reaps it.
/// Burns that much CPU time, however busy the machine is with other things.
void spin_in_child(std::int64_t ns) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        timespec used{};
        do {
            if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) ::_exit(1);
        } while (used.tv_sec * 1000000000LL + used.tv_nsec < ns);
        ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
}

TEST(PerfEvents, ExistForEveryCounterOfTheCatalog) {
    for (const auto& counter : kab::counters()) EXPECT_NE(find_perf_event(counter.name), nullptr) << counter.name;
    EXPECT_EQ(find_perf_event("no-such"), nullptr);
}

TEST(ScaledSample, IsScaledByTheTimeItRan) {
    const auto half = scaled_sample("cycles", 1000, 800, 400);
    EXPECT_DOUBLE_EQ(half.value.value(), 2000);
    EXPECT_EQ(half.enabled_ns, 800);
    EXPECT_EQ(half.running_ns, 400);
    EXPECT_DOUBLE_EQ(scaled_sample("cycles", 1000, 800, 800).value.value(), 1000);
}

TEST(ScaledSample, IsAbsentWhenItRanForTooLittle) {
    EXPECT_DOUBLE_EQ(scaled_sample("cycles", 1000, 1000, 100).value.value(), 10000);
    const auto guess = scaled_sample("cycles", 1000, 1000, 99);
    EXPECT_FALSE(guess.value);
    EXPECT_THAT(guess.reason, testing::HasSubstr("for 99 of 1000 ns only"));
    EXPECT_EQ(guess.running_ns, 99);
}

TEST(ScaledSample, NothingAtAllIsNoCountOfCycles) {
    const auto pretended = scaled_sample("instructions", 0, 800, 800);
    EXPECT_FALSE(pretended.value);
    EXPECT_THAT(pretended.reason, testing::HasSubstr("counted nothing in 800 ns"));
    EXPECT_DOUBLE_EQ(scaled_sample("major-faults", 0, 800, 800).value.value(), 0);
}

TEST(ScaledSample, IsAbsentWhenItNeverRan) {
    const auto never = scaled_sample("cycles", 0, 800, 0);
    EXPECT_FALSE(never.value);
    EXPECT_THAT(never.reason, testing::HasSubstr("never scheduled"));
    EXPECT_EQ(never.enabled_ns, 800);
}

TEST(CounterSet, CountsChildrenButOnlyWhileEnabled) {
    auto set = CounterSet::open({"task-clock", "page-faults"});
    spin_in_child(20000000);  // before: not counted
    ASSERT_TRUE(set.enable());
    spin_in_child(20000000);
    ASSERT_TRUE(set.disable());
    spin_in_child(20000000);  // after: not counted
    const auto samples = set.read();
    ASSERT_TRUE(samples) << samples.error().text();
    ASSERT_EQ(samples->size(), 2U);
    if (!samples->at(0).value) GTEST_SKIP() << "no software events here: " << samples->at(0).reason;
    // One child's 20 ms; of the two others, which were not to be counted, neither.
    EXPECT_GT(*samples->at(0).value, 15000000);
    EXPECT_LT(*samples->at(0).value, 39000000);
    EXPECT_GT(samples->at(1).value.value(), 0);
}

TEST(CounterSet, AnUnavailableCounterIsAbsentWithAReasonNeverZero) {
    auto set = CounterSet::open({"cycles", "stalled-cycles-backend", "no-such"});
    ASSERT_TRUE(set.enable());
    ASSERT_TRUE(set.disable());
    const auto samples = set.read();
    ASSERT_TRUE(samples) << samples.error().text();
    ASSERT_EQ(samples->size(), 3U);
    for (const auto& sample : *samples) EXPECT_EQ(sample.value.has_value(), sample.reason.empty()) << sample.metric;
    EXPECT_FALSE(samples->at(2).value);
    EXPECT_THAT(samples->at(2).reason, testing::HasSubstr("no event of this name"));
}

TEST(Meter, WithoutCountersOnlyReadsTheClock) {
    Meter meter({});
    const auto before = raw_clock_ns();
    ASSERT_TRUE(meter.start());
    ASSERT_TRUE(meter.stop());
    EXPECT_GE(meter.started_ns(), before);
    EXPECT_GE(meter.elapsed_ns(), 0);
    EXPECT_FALSE(meter.counted_samples());
}

TEST(Meter, WithCountersAddsElapsedAndBusyTime) {
    Meter meter({"task-clock"});
    ASSERT_TRUE(meter.start());
    spin_in_child(50000000);
    ASSERT_TRUE(meter.stop());
    const auto samples = meter.counted_samples();
    ASSERT_TRUE(samples) << samples.error().text();
    ASSERT_EQ(samples->size(), 3U);
    EXPECT_EQ(samples->at(1).metric, "counted-elapsed");
    EXPECT_GE(samples->at(1).value.value(), 50000000);
    EXPECT_EQ(samples->at(2).metric, "machine-busy");
    ASSERT_TRUE(samples->at(2).value) << samples->at(2).reason;
    EXPECT_GT(*samples->at(2).value, 20000000);
}

TEST(Meter, WhatIsDoneAfterTheRunIsTheDrains) {
    Meter meter({"task-clock"});
    ASSERT_TRUE(meter.start());
    ASSERT_TRUE(meter.stop());
    spin_in_child(50000000);
    const auto busy = meter.drain_busy();
    EXPECT_EQ(busy.metric, "drain-busy");
    ASSERT_TRUE(busy.value) << busy.reason;
    EXPECT_GT(*busy.value, 20000000);
}

}  // namespace
}  // namespace kab::guest
