#include "agent/guest/workloads/semop_multi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "tests/unit/agent/semaphore_fixture.h"

namespace kab::guest {
namespace {

using testing::HasSubstr;

using With = std::map<std::string, std::int64_t>;

RunContext context(const With& more) {
    With with{{"cpus", 0}, {"threads", 8}, {"semaphores", 4}, {"initial", 0}, {"duration", 20}, {"operations", 0}};
    for (const auto& [name, value] : more) with[name] = value;
    return {with, std::chrono::seconds(5)};
}

/// rate and operations of one run.
std::map<std::string, double> run(Workload& workload, const RunContext& with) {
    std::map<std::string, double> values;
    const auto prepared = workload.prepare(with);
    EXPECT_TRUE(prepared) << prepared.error().text();
    Meter meter({});
    const auto own = workload.run(with, meter);
    EXPECT_TRUE(own) << own.error().text();
    if (!own) return values;
    for (const auto& sample : *own) values[sample.metric] = sample.value.value();
    EXPECT_DOUBLE_EQ(values["rate"], values["operations"] / static_cast<double>(meter.elapsed_ns()) * 1e9);
    if (with.parameter("operations") == 0) {
        EXPECT_GE(meter.elapsed_ns(), with.parameter("duration") * 1'000'000);
    }
    const auto left = workload.drain(with, meter);
    EXPECT_TRUE(left && left->empty());
    return values;
}

TEST(SemopMulti, DoesAsManyOperationsAsItIsToldRoundedUpToRoundsOfEachThread) {
    const auto workload = make_semop_multi();
    const auto before = semaphore_sets();
    EXPECT_EQ(run(*workload, context({{"operations", 1600}}))["operations"], 1600);
    EXPECT_EQ(run(*workload, context({{"operations", 1601}}))["operations"], 1616);
    EXPECT_EQ(run(*workload, context({{"operations", 1}, {"threads", 3}}))["operations"], 6);
    EXPECT_THAT(semaphore_sets_left(before), testing::IsEmpty());
}

TEST(SemopMulti, ThreadsOfASemaphoreThatIsOneTakeTurns) {
    const auto workload = make_semop_multi();
    EXPECT_EQ(run(*workload, context({{"initial", 1}, {"operations", 1600}}))["operations"], 1600);
    EXPECT_EQ(run(*workload, context({{"initial", 1}, {"semaphores", 1}, {"operations", 800}}))["operations"], 800);
}

TEST(SemopMulti, StopsAfterItsDuration) {
    const auto workload = make_semop_multi();
    for (const std::int64_t initial : {0, 1}) {
        const auto values = run(*workload, context({{"initial", initial}, {"semaphores", 100}, {"threads", 40}}));
        EXPECT_GE(values.at("operations"), 2);
    }
}

/// May this process ask to be ahead of others?
bool may_be_ahead() {
    const sched_param first{1}, ordinary{0};
    if (::sched_setscheduler(0, SCHED_FIFO, &first) != 0) return false;
    return ::sched_setscheduler(0, SCHED_OTHER, &ordinary) == 0;
}

TEST(SemopMulti, WhoSaysStopIsAheadOfItsThreadsAsLongAsTheyRun) {
    if (!may_be_ahead()) GTEST_SKIP() << "no permission to use SCHED_FIFO here";
    const pid_t own = ::gettid();
    std::atomic<bool> over{false};
    bool was_ahead = false;
    std::thread watcher([&] {
        while (!over && !was_ahead) was_ahead = ::sched_getscheduler(own) == SCHED_FIFO;
    });
    const auto workload = make_semop_multi();
    (void)run(*workload, context({{"threads", 64}, {"duration", 1000}}));
    over = true;
    watcher.join();
    EXPECT_TRUE(was_ahead) << "hundreds of threads have a turn each before the word to stop is given";
    EXPECT_EQ(::sched_getscheduler(own), SCHED_OTHER);
}

TEST(SemopMultiFailure, MoreCpusThanThereAreAreRefused) {
    const auto workload = make_semop_multi();
    const auto prepared = workload->prepare(context({{"cpus", 4096}}));
    ASSERT_FALSE(prepared);
    EXPECT_THAT(prepared.error().text(), HasSubstr("lower 'cpus' or raise 'host.cpus'"));
}

TEST(SemopMultiFailure, ASetThatIsTooLargeNamesTheLimitAndLeavesNothing) {
    const auto workload = make_semop_multi();
    const auto before = semaphore_sets();
    ASSERT_TRUE(workload->prepare(context({{"semaphores", 40000}})));
    Meter meter({});
    const auto own = workload->run(context({{"semaphores", 40000}}), meter);
    ASSERT_FALSE(own);
    EXPECT_THAT(own.error().text(), HasSubstr("semget of 40000 semaphores: Invalid argument"));
    EXPECT_THAT(own.error().text(), HasSubstr("/proc/sys/kernel/sem"));
    EXPECT_THAT(semaphore_sets_left(before), testing::IsEmpty());
}

TEST(SemopMultiFailure, AFailedOperationEndsTheRunAndNamesTheThread) {
    const auto workload = make_semop_multi();
    const auto before = semaphore_sets();
    // Its set is taken away while all threads use it or sleep on it.
    const With with{{"initial", 1}, {"semaphores", 13}, {"duration", 600'000}};
    ASSERT_TRUE(workload->prepare(context(with)));
    std::atomic<bool> over{false};
    std::thread remover([&] {
        while (!over) remove_used_sets(before, 13);
    });
    Meter meter({});
    const auto own = workload->run(context(with), meter);
    over = true;
    remover.join();
    ASSERT_FALSE(own);
    EXPECT_THAT(own.error().text(), HasSubstr("semop ("));
    EXPECT_THAT(own.error().text(), HasSubstr("of 8 threads failed)"));
    EXPECT_THAT(semaphore_sets_left(before), testing::IsEmpty());
}

}  // namespace
}  // namespace kab::guest
