#include "agent/guest/perf/machine_busy.h"

#include <gtest/gtest.h>

#include "agent/guest/perf/meter.h"

namespace kab::guest {
namespace {

/// Two CPUs: 0 reads the file, its tick on; 1 is idle since 900, its tick stopped.
constexpr const char* timer_list =
    "Timer List Version: v0.9\n"
    "HRTIMER_MAX_CLOCK_BASES: 8\n"
    "now at 1000 nsecs\n"
    "\n"
    "cpu: 0\n"
    " clock 0:\n"
    "  .base:       pending\n"
    "  .hres_active    : 1\n"
    "  .tick_stopped   : 0\n"
    "  .idle_entrytime : 700 nsecs\n"
    "  .idle_sleeptime : 200 nsecs\n"
    "  .iowait_sleeptime: 5 nsecs\n"
    "\n"
    "cpu: 1\n"
    "  .tick_stopped   : 1\n"
    "  .idle_entrytime : 900 nsecs\n"
    "  .idle_sleeptime : 300 nsecs\n"
    "  .iowait_sleeptime: 0 nsecs\n"
    "\n"
    "Tick Device: mode:     1\n"
    "Per CPU device: 0\n";

TEST(IdleFromTimerList, AddsThePeriodOfACpuThatIsIdleNow) {
    const auto idle = idle_from_timer_list(timer_list);
    ASSERT_TRUE(idle) << idle.error().text();
    EXPECT_EQ(idle->now_ns, 1000);
    EXPECT_EQ(idle->cpus, 2);
    EXPECT_EQ(idle->idle_ns, 200 + 5 + 300 + (1000 - 900));
}

TEST(IdleFromTimerList, IsNotFoundWithoutNoHz) {
    const auto idle = idle_from_timer_list("now at 1000 nsecs\ncpu: 0\n  .hres_active    : 1\n");
    ASSERT_FALSE(idle);
    EXPECT_EQ(idle.error().fault, Fault::not_found);
}

TEST(IdleFromStat, TakesIdleAndIowaitOfTheTotal) {
    const auto idle =
        idle_from_stat("cpu  10 0 5 70 3 1 1 0 0 0\ncpu0 5 0 2 35 2 1 0 0 0 0\ncpu1 5 0 3 35 1 0 1 0 0 0\n", 42);
    ASSERT_TRUE(idle) << idle.error().text();
    EXPECT_EQ(idle->now_ns, 42);
    EXPECT_EQ(idle->cpus, 2);
    EXPECT_EQ(idle->idle_ns, 73 * 10000000);
}

TEST(IdleFromStat, RefusesWhatItDoesNotUnderstand) {
    EXPECT_FALSE(idle_from_stat("intr 5\n", 1));
    EXPECT_FALSE(idle_from_stat("cpu  10 0 5 x 3\ncpu0 1 2 3 4 5\n", 1));
    EXPECT_FALSE(idle_from_stat("cpu  10 0 5\ncpu0 10 0 5\n", 1));
}

TEST(BusyBetween, IsWhatWasNotIdleOnAllCpus) {
    const IdleSnapshot from{1000, 500, 2}, to{2000, 700, 2};
    EXPECT_EQ(busy_between(from, to), 2 * 1000 - 200);
    EXPECT_EQ(busy_between(IdleSnapshot{0, 0, 1}, IdleSnapshot{100, 150, 1}), 0);  // never negative
    EXPECT_FALSE(busy_between(from, IdleSnapshot{2000, 700, 1}));
}

TEST(MachineBusy, ASpinningProcessKeepsAtLeastOneCpuBusy) {
    const auto from = idle_now();
    ASSERT_TRUE(from) << from.error().text();
    const auto end = raw_clock_ns() + 100000000;
    while (raw_clock_ns() < end) continue;
    const auto to = idle_now();
    ASSERT_TRUE(to) << to.error().text();
    const auto busy = busy_between(*from, *to);
    ASSERT_TRUE(busy) << busy.error().text();
    EXPECT_GT(*busy, 60000000);
    EXPECT_LE(*busy, (to->now_ns - from->now_ns) * from->cpus);
}

}  // namespace
}  // namespace kab::guest
