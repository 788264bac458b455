// What the host tells of itself, from made-up /proc and /sys.
#include "agent/host/qemu/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

namespace kab::qemu {
namespace {

using testing::DoubleEq;
using testing::HasSubstr;
using testing::Optional;

constexpr int vcpus[] = {101, 102};

class ConditionsTest : public testing::Test {
  protected:
    ConditionsTest() : directory_(*TempDir::make("kab-conditions-")), host_(directory_.path()) {
        stat(0, 0, 3);
        for (const int thread : vcpus) {
            delay(thread, 0);
            put(task(thread) + "stat", std::to_string(thread) + " (CPU 0/TCG) R 1 1");
        }
        put(task(100) + "stat", "100 (qemu-system) R) S 1 1");  // a name that ends like a state
        for (int cpu = 0; cpu < 2; ++cpu) throttles(cpu, 5);
    }

    void put(const std::string& path, const std::string& text) {
        const auto file = directory_.path() / path;
        ASSERT_TRUE(make_directories(file.parent_path()));
        ASSERT_TRUE(write_file(file, text));
    }
    /// All threads of the emulator are found below that of the first virtual CPU.
    static std::string task(int thread) { return fmt::format("proc/101/task/{}/", thread); }
    void stat(std::int64_t steal, std::int64_t others, int running) {
        put("proc/stat", fmt::format("cpu  {} 0 0 0 0 0 0 {} 7 7\ncpu0 1 0 0 0 0 0 0 0 0 0\ncpu1 1 0 0 0 0 0 0 0 0 0\n"
                                     "intr 5 0 0\nctxt 1\nprocs_running {}\nprocs_blocked 0\n",
                                     others, steal, running));
    }
    void delay(int thread, std::int64_t ns) {
        put(fmt::format("proc/{0}/task/{0}/schedstat", thread), fmt::format("900000 {} 17\n", ns));
    }
    void throttles(int cpu, int times) {
        put(fmt::format("sys/devices/system/cpu/cpu{}/thermal_throttle/core_throttle_count", cpu),
            std::to_string(times) + "\n");
    }
    void begin() { host_.begin({vcpus[0], vcpus[1]}, now_); }
    void start() { host_.run_started(now_); }
    /// What the run that ends now was like, by name.
    std::map<std::string, msg::Sample> finish() {
        std::map<std::string, msg::Sample> all;
        for (auto& sample : host_.run_finished(now_)) {
            EXPECT_NE(sample.value.has_value(), !sample.reason.empty()) << sample.metric;
            all[sample.metric] = sample;
        }
        return all;
    }
    void pass_time(Nanoseconds time) { now_ += time; }

    TempDir directory_;
    HostConditions host_;
    SteadyTime now_{std::chrono::hours(5)};
};

TEST_F(ConditionsTest, AQuietRun) {
    begin();
    start();
    pass_time(std::chrono::seconds(2));
    stat(0, 400, 3);
    const auto all = finish();
    ASSERT_EQ(all.size(), 4U);
    for (const char* name : {"steal", "run-delay", "host-load", "throttled"})
        EXPECT_THAT(all.at(name).value, Optional(0)) << name;
}

TEST_F(ConditionsTest, StealIsAShareOfTheTimeOfAllCpus) {
    begin();
    start();
    pass_time(std::chrono::seconds(2));
    stat(30, 370, 3);
    EXPECT_THAT(finish().at("steal").value, Optional(DoubleEq(30.0 / 400)));
}

TEST_F(ConditionsTest, StealOfAShortRunIsOverTheLastSecondBeforeItsEnd) {
    begin();  // second 0
    pass_time(std::chrono::milliseconds(1500));
    stat(100, 200, 3);
    start();  // 1.5
    pass_time(std::chrono::milliseconds(10));
    stat(100, 202, 3);
    EXPECT_THAT(finish().at("steal").value, Optional(DoubleEq(100.0 / 302))) << "from the boot's beginning: 1.51 s";
    pass_time(std::chrono::milliseconds(1200));
    stat(110, 430, 3);
    start();  // 2.71
    pass_time(std::chrono::milliseconds(10));
    stat(111, 431, 3);
    EXPECT_THAT(finish().at("steal").value, Optional(DoubleEq(11.0 / 242))) << "from the start of the run before";
}

TEST_F(ConditionsTest, ARunWithinOneStepOfTheCountersHasNoSteal) {
    begin();
    start();
    pass_time(std::chrono::milliseconds(1));
    const auto steal = finish().at("steal");
    EXPECT_FALSE(steal.value);
    EXPECT_THAT(steal.reason, HasSubstr("too short"));
}

TEST_F(ConditionsTest, RunDelayIsAShareOfTheRunOfAllVirtualCpus) {
    delay(101, 1'000'000);
    delay(102, 5'000'000);
    begin();
    start();
    pass_time(std::chrono::milliseconds(100));
    delay(101, 1'000'000 + 20'000'000);
    delay(102, 5'000'000 + 10'000'000);
    EXPECT_THAT(finish().at("run-delay").value, Optional(DoubleEq(0.15)));
}

TEST_F(ConditionsTest, HostLoadLeavesOutTheEmulatorAndThisProcess) {
    begin();
    stat(0, 0, 6);  // two virtual CPUs, this process, three others
    start();
    pass_time(std::chrono::seconds(1));
    EXPECT_THAT(finish().at("host-load").value, Optional(DoubleEq(1.5)));
}

TEST_F(ConditionsTest, AVirtualCpuThatSleepsIsNotTakenOff) {
    put(task(101) + "stat", "101 (CPU 0/TCG) S 1 1");
    begin();
    stat(0, 0, 4);  // one virtual CPU, this process, two others
    start();
    pass_time(std::chrono::seconds(1));
    EXPECT_THAT(finish().at("host-load").value, Optional(DoubleEq(1)));
}

TEST_F(ConditionsTest, HostLoadDoesNotCountWhatIsThereOnlyAtOneEnd) {
    begin();
    stat(0, 0, 9);
    start();
    pass_time(std::chrono::seconds(1));
    stat(0, 200, 4);
    EXPECT_THAT(finish().at("host-load").value, Optional(DoubleEq(0.5)));
    start();
    pass_time(std::chrono::seconds(1));
    stat(0, 400, 1);  // fewer than are ours: they went to sleep between the two readings
    EXPECT_THAT(finish().at("host-load").value, Optional(0));
}

TEST_F(ConditionsTest, ThrottledCountsNewEventsOfAllCpus) {
    begin();
    start();
    pass_time(std::chrono::seconds(1));
    throttles(0, 6);
    throttles(1, 8);
    EXPECT_THAT(finish().at("throttled").value, Optional(4));
    start();
    pass_time(std::chrono::seconds(1));
    EXPECT_THAT(finish().at("throttled").value, Optional(0));
}

TEST_F(ConditionsTest, WhatIsAbsentHasAReasonAndTheOthersAreThere) {
    fs::remove_all(directory_.path() / "sys");
    fs::remove(directory_.path() / "proc/102/task/102/schedstat");
    begin();
    start();
    pass_time(std::chrono::seconds(2));
    stat(4, 396, 3);
    const auto all = finish();
    EXPECT_THAT(all.at("throttled").reason, HasSubstr("thermal_throttle"));
    EXPECT_THAT(all.at("run-delay").reason, HasSubstr("CONFIG_SCHED_INFO"));
    EXPECT_THAT(all.at("steal").value, Optional(DoubleEq(0.01)));
    EXPECT_THAT(all.at("host-load").value, Optional(0));
}

TEST_F(ConditionsTest, AnEmulatorThatDoesNotTellItsThreads) {
    host_.begin({}, now_);
    start();
    pass_time(std::chrono::seconds(2));
    stat(0, 400, 3);
    const auto all = finish();
    EXPECT_EQ(all.at("run-delay").reason, "QEMU does not tell its threads");
    EXPECT_EQ(all.at("host-load").reason, "QEMU does not tell its threads");
    EXPECT_THAT(all.at("steal").value, Optional(0));
}

TEST_F(ConditionsTest, GarbledFilesAreReasonsAndNoFigures) {
    for (const char* text :
         {"", "cpu\n", "cpu  1 2 3\nprocs_running 2\n", "cpu  1 2 3 4 5 6 7 x\ncpu0 1\nprocs_running 1\n",
          "cpu  1 2 3 4 5 6 7 8\ncpu0 1\nprocs_running\n", "cpu  1 2 3 4 5 6 7 8\ncpu0 1\n",
          "cpu  1 2 3 4 5 6 7 8\nprocs_running 1\n", "cpu  1 2 3 -4 5 6 7 8\ncpu0 1\nprocs_running 1\n",
          "cpu  99999999999999999999 2 3 4 5 6 7 8\ncpu0 1\nprocs_running 1\n"}) {
        put("proc/stat", text);
        begin();
        start();
        pass_time(std::chrono::seconds(2));
        const auto all = finish();
        EXPECT_EQ(all.at("steal").reason, "/proc/stat is not understood") << text;
        EXPECT_FALSE(all.at("host-load").value) << text;
    }
    put("proc/101/task/101/schedstat", "12\n");
    put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "many\n");
    begin();
    start();
    pass_time(std::chrono::seconds(2));
    const auto all = finish();
    EXPECT_THAT(all.at("run-delay").reason, HasSubstr("not understood"));
    EXPECT_THAT(all.at("throttled").value, Optional(0)) << "of the CPU that does tell";
}

TEST_F(ConditionsTest, CountersThatGoBackwardsAreNoNegativeShare) {
    stat(50, 100, 3);
    delay(101, 9'000'000);
    begin();
    start();
    pass_time(std::chrono::seconds(2));
    stat(40, 500, 3);
    delay(101, 0);
    throttles(0, 0);
    const auto all = finish();
    EXPECT_THAT(all.at("steal").value, Optional(0));
    EXPECT_THAT(all.at("run-delay").value, Optional(0));
    EXPECT_THAT(all.at("throttled").value, Optional(0));
}

TEST_F(ConditionsTest, ARunThatNeverStartedHasNone) {
    EXPECT_TRUE(host_.run_finished(now_).empty());
}

/// On the machine itself: what is read is understood, whatever it is.
TEST(HostConditions, ReadsThisMachine) {
    HostConditions host;
    const SteadyTime start{std::chrono::hours(1)};
    host.begin({static_cast<int>(::getpid())}, start);
    host.run_started(start);
    const auto all = host.run_finished(start + std::chrono::seconds(1));
    ASSERT_EQ(all.size(), 4U);
    for (const auto& condition : all) {
        EXPECT_NE(condition.value.has_value(), !condition.reason.empty()) << condition.metric;
        EXPECT_THAT(condition.reason, testing::Not(HasSubstr("not understood"))) << condition.metric;
        EXPECT_GE(condition.value.value_or(0), 0) << condition.metric;
    }
}

}  // namespace
}  // namespace kab::qemu
