#include "agent/guest/workloads/postwait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/unit/agent/semaphore_fixture.h"

namespace kab::guest {
namespace {

using testing::HasSubstr;

RunContext context(std::int64_t users, std::int64_t loops, std::int64_t scan) {
    return {{{"users", users}, {"loops", loops}, {"scan", scan}}, std::chrono::seconds(5)};
}

class Postwait : public testing::TestWithParam<std::int64_t> {};

TEST_P(Postwait, AllUsersGoRoundTheRing) {
    const auto workload = make_postwait();
    const auto before = semaphore_sets();
    for (const std::int64_t scan : {0, 16}) {  // the same object serves all runs of a boot
        const auto with = context(GetParam(), 50, scan);
        ASSERT_TRUE(workload->prepare(with));
        Meter meter({});
        const auto own = workload->run(with, meter);
        ASSERT_TRUE(own) << own.error().text();
        ASSERT_EQ(own->size(), 2U);
        const auto elapsed = static_cast<double>(meter.elapsed_ns());
        EXPECT_EQ((*own)[0].metric, "elapsed");
        EXPECT_EQ((*own)[0].value.value(), elapsed);
        EXPECT_EQ((*own)[1].metric, "rate");
        EXPECT_DOUBLE_EQ((*own)[1].value.value(), 100.0 * static_cast<double>(GetParam()) / elapsed * 1e9);
        const auto left = workload->drain(with, meter);
        ASSERT_TRUE(left);
        EXPECT_TRUE(left->empty());
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a user is left";
        EXPECT_THAT(semaphore_sets_left(before), testing::IsEmpty());
    }
}

INSTANTIATE_TEST_SUITE_P(, Postwait, testing::Values(1, 2, 30));

TEST(PostwaitFailure, ASetThatGoesEndsAllUsersAndIsTold) {
    const auto workload = make_postwait();
    const auto before = semaphore_sets();
    const auto with = context(11, 10'000'000, 0);
    ASSERT_TRUE(workload->prepare(with));
    std::atomic<bool> over{false};
    std::thread remover([&] {
        while (!over) remove_used_sets(before, 11);
    });
    Meter meter({});
    const auto own = workload->run(with, meter);
    over = true;
    remover.join();
    ASSERT_FALSE(own);
    EXPECT_THAT(own.error().text(), HasSubstr("semop ("));
    EXPECT_THAT(own.error().text(), HasSubstr(" of 11 tasks failed)"));
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a user is left";
    EXPECT_THAT(semaphore_sets_left(before), testing::IsEmpty());
}

}  // namespace
}  // namespace kab::guest
