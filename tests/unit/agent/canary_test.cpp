#include "agent/guest/canary.h"

#include <gtest/gtest.h>

#include "agent/guest/perf/meter.h"

namespace kab::guest {
namespace {

TEST(Canary, IsTheSlowerOfTheLoopsBeforeAndAfterTheRun) {
    const auto started = raw_clock_ns();
    const Canary canary(false);
    const auto condition = canary.after_run();
    const auto both = static_cast<double>(raw_clock_ns() - started);
    EXPECT_EQ(condition.metric, "canary");
    ASSERT_TRUE(condition.value);
    EXPECT_TRUE(condition.reason.empty());
    EXPECT_GT(*condition.value, 0);
    // The slower of two, and both fit into the time that passed.
    EXPECT_LE(*condition.value, both);
}

TEST(Canary, IsTimeThatTheLoopTook) {
    const auto started = raw_clock_ns();
    const double told = canary_ns();
    EXPECT_GT(told, 0);
    EXPECT_LE(told, static_cast<double>(raw_clock_ns() - started));
}

TEST(Canary, InExactModeThereIsNone) {
    const auto condition = Canary(true).after_run();
    EXPECT_EQ(condition.metric, "canary");
    EXPECT_FALSE(condition.value);
    EXPECT_FALSE(condition.reason.empty());
}

}  // namespace
}  // namespace kab::guest
