#include "common/machine_lock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace kab {
namespace {

class MachineLockTest : public ::testing::Test {
  protected:
    MachineLockTest() : directory_(*TempDir::make("kab-lock-")) {
        ::setenv("KAB_MACHINE_LOCK", (directory_.path() / "machine.lock").c_str(), 1);
    }
    ~MachineLockTest() override { ::unsetenv("KAB_MACHINE_LOCK"); }
    TempDir directory_;
};

TEST_F(MachineLockTest, IsHeldByOneAndNamesIt) {
    auto first = MachineLock::take("building kernel 12ab");
    ASSERT_TRUE(first) << first.error().text();
    EXPECT_EQ(MachineLock::holder(), std::to_string(::getpid()) + " building kernel 12ab");
    MachineLockQueue other("booting");
    auto refused = other.poll();
    ASSERT_TRUE(refused);
    EXPECT_FALSE(refused->has_value());
    { const auto gone = std::move(*first); }
    auto had = other.poll();
    ASSERT_TRUE(had && *had);
    EXPECT_EQ(MachineLock::holder(), std::to_string(::getpid()) + " booting");
}

TEST_F(MachineLockTest, NothingIsSaidOfAFormerHolder) {
    { const auto held = MachineLock::take("building"); }
    EXPECT_EQ(MachineLock::holder(), "another process");
}

TEST_F(MachineLockTest, TakeWaitsAndSaysForWhom) {
    auto first = MachineLock::take("booting");
    ASSERT_TRUE(first);
    std::optional<MachineLock> holding(std::move(*first));
    std::string waited_for;
    // The waiting thread itself makes the holder let go: no timing involved.
    auto second = MachineLock::take("building", [&](const std::string& holder) {
        waited_for = holder;
        holding.reset();
    });
    ASSERT_TRUE(second);
    EXPECT_EQ(waited_for, std::to_string(::getpid()) + " booting");
}

TEST_F(MachineLockTest, WhoTakesItAgainAndAgainQueuesBehindAWaiter) {
    auto first = MachineLock::take("boot 1");
    ASSERT_TRUE(first);
    MachineLockQueue waiter("building");
    auto waiting = waiter.poll();
    ASSERT_TRUE(waiting && !*waiting);
    { const auto gone = std::move(*first); }
    MachineLockQueue again("boot 2");
    auto refused = again.poll();
    ASSERT_TRUE(refused);
    EXPECT_FALSE(refused->has_value()) << "overtook a waiter";
    auto had = waiter.poll();
    ASSERT_TRUE(had && *had);
}

TEST_F(MachineLockTest, RefusesAnythingButARegularFile) {
    const fs::path inner = directory_.path() / "inner";  // its queue file stays within directory_
    ASSERT_TRUE(make_directories(inner));
    ::setenv("KAB_MACHINE_LOCK", inner.c_str(), 1);
    auto lock = MachineLock::take("building");
    ASSERT_FALSE(lock);
    EXPECT_EQ(lock.error().fault, Fault::io);
}

}  // namespace
}  // namespace kab
