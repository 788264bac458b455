#include "agent/guest/exact.h"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include "agent/guest/perf/meter.h"

namespace kab::guest {
namespace {

std::int64_t clock_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

TEST(PackedPlan, IsReadAsItWasWritten) {
    auto directory = *TempDir::make("kab-exact-");
    msg::AgentPlan plan;
    plan.exact = true;
    plan.timer_phase_ns = 12345;
    plan.layout_pages = 7;
    plan.drain_limit_ns = 1;
    const auto file = directory.path() / "plan";
    ASSERT_TRUE(write_file(file, msg::encode(plan)));
    const auto read = read_plan(file);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(msg::encode(*read), msg::encode(plan));
    ASSERT_TRUE(write_file(file, msg::encode(msg::Shutdown{})));
    EXPECT_EQ(read_plan(file).error().fault, Fault::protocol);
    ASSERT_TRUE(write_file(file, "nonsense"));
    EXPECT_FALSE(read_plan(file));
    EXPECT_FALSE(read_plan(directory.path() / "absent"));
}

TEST(TimerPhase, BeginsAfterATickAndNotBeforeThePhase) {
    timespec tick{};
    ::clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    const std::int64_t phase = tick.tv_nsec / 2;
    const auto before = clock_ns(CLOCK_MONOTONIC_COARSE);
    await_timer_phase(phase);
    const auto now = clock_ns(CLOCK_MONOTONIC);
    EXPECT_GE(now, before + tick.tv_nsec / 2 + phase) << "a tick has passed, and then the phase";
    // A whole number of ticks more is no other phase.
    await_timer_phase(phase + 1000 * std::int64_t{tick.tv_nsec});
    EXPECT_LT(clock_ns(CLOCK_MONOTONIC), now + 1000 * std::int64_t{tick.tv_nsec});
}

TEST(Layout, MovesHeapAndStack) {
    const auto place = [](std::int64_t pages) {
        std::pair<char*, char*> seen;
        with_layout(pages, [&] {
            char on_stack = 0;
            seen = {static_cast<char*>(::sbrk(0)), &on_stack};
        });
        return seen;
    };
    const auto plain = place(0), moved = place(5);
    EXPECT_EQ(moved.first - plain.first, 5 * 4096);
    EXPECT_GE(plain.second - moved.second, 5 * 4096);
    EXPECT_LT(plain.second - moved.second, 6 * 4096);
}

TEST(ExactMeter, BusyAndIdleAreTheIteration) {
    Meter meter({});
    meter.be_exact(0);
    ASSERT_TRUE(meter.start());
    ASSERT_TRUE(meter.stop());
    const auto samples = meter.exact_samples();
    ASSERT_EQ(samples.size(), 2U);
    EXPECT_EQ(samples[0].metric, "busy");
    EXPECT_EQ(samples[1].metric, "idle");
    for (const auto& sample : samples) EXPECT_NE(sample.value.has_value(), !sample.reason.empty());
    // Where /proc/timer_list cannot be read both are absent.
    EXPECT_EQ(samples[0].value.has_value(), samples[1].value.has_value());
    if (samples[0].value) {
        EXPECT_EQ(*samples[0].value + *samples[1].value, static_cast<double>(meter.elapsed_ns()));
    }
}

}  // namespace
}  // namespace kab::guest
