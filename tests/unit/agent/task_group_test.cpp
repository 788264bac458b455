#include "agent/guest/workloads/task_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <optional>

namespace kab::guest {
namespace {

using testing::HasSubstr;

const auto at_once = [](std::uint32_t) { return TaskResult{}; };

void expect_no_child() {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a task is left";
}

TEST(TaskGroup, NobodyWorksBeforeAllAreReadyAndTheGoIsGiven) {
    struct Counts {
        std::atomic<int> ready{0}, early{0}, worked{0};
        std::atomic<bool> gone{false};
    };
    auto counts = Shared<Counts>::make();
    ASSERT_TRUE(counts);
    auto group = TaskGroup::make(5, false);
    ASSERT_TRUE(group);
    const TaskBody body{[&](std::uint32_t) {
                            ++(*counts)->ready;
                            return TaskResult{};
                        },
                        [&](std::uint32_t) {
                            if (!(*counts)->gone) ++(*counts)->early;
                            ++(*counts)->worked;
                            return TaskResult{};
                        }};
    ASSERT_TRUE(group->start(body));
    EXPECT_EQ((*counts)->ready, 5);
    (*counts)->gone = true;
    ASSERT_TRUE(group->go());
    ASSERT_TRUE(group->wait_until_done());
    EXPECT_EQ((*counts)->worked, 5);
    EXPECT_EQ((*counts)->early, 0);
    EXPECT_TRUE(group->verdict());
    expect_no_child();
}

TEST(TaskGroup, ATaskThatWaitsForAFailedOneDoesNotHoldUpTheFailure) {
    std::optional<TaskGroup> group(std::move(TaskGroup::make(2, false).value()));
    const TaskBody body{at_once, [](std::uint32_t number) {
                            if (number == 1) return TaskResult(TaskFailure{"its call", ERANGE});
                            for (;;) (void)::pause();  // as in a semop() that nobody will answer
                        }};
    ASSERT_TRUE(group->start(body));
    ASSERT_TRUE(group->go());
    const auto done = group->wait_until_done();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("its call in task 2: Numerical result out of range"));
    EXPECT_THAT(done.error().text(), HasSubstr("(1 of 2 tasks failed)"));
    group.reset();
    expect_no_child();
}

TEST(TaskGroup, ATaskThatIsKilledIsTold) {
    auto group = TaskGroup::make(2, false);
    ASSERT_TRUE(group);
    const TaskBody body{at_once, [](std::uint32_t number) {
                            if (number == 0) (void)::raise(SIGKILL);
                            return TaskResult{};
                        }};
    ASSERT_TRUE(group->start(body));
    ASSERT_TRUE(group->go());
    const auto done = group->wait_until_done();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("task 1 of 2 was killed by signal 9"));
}

TEST(TaskGroup, ATaskThatIsKilledIsToldBehindOneThatEndedWell) {
    auto group = TaskGroup::make(3, false);
    ASSERT_TRUE(group);
    const TaskBody body{at_once, [](std::uint32_t number) {
                            if (number == 1) (void)::raise(SIGKILL);
                            return TaskResult{};
                        }};
    ASSERT_TRUE(group->start(body));
    ASSERT_TRUE(group->go());
    const auto done = group->wait_until_done();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("task 2 of 3 was killed by signal 9"));
}

}  // namespace
}  // namespace kab::guest
