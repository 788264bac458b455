#include "agent/guest/workloads/sem_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "agent/guest/workloads/sem_check_parts.h"
#include "tests/unit/agent/semaphore_fixture.h"

namespace kab::guest {
namespace {

using testing::HasSubstr;

// The kernel the tests run on has none of the faults that sem-check looks for: every part must pass.
class SemCheckPart : public testing::Test {
  protected:
    void TearDown() override {
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a task is left";
        EXPECT_THAT(semaphore_sets_left(before_), testing::IsEmpty());
    }
    static void expect_good(const Status& status) { EXPECT_TRUE(status) << status.error().text(); }

    std::set<int> before_ = semaphore_sets();
};

TEST_F(SemCheckPart, SimpleOperations) {
    expect_good(sem_check::simple_operations());
}
TEST_F(SemCheckPart, OperationsTogether) {
    expect_good(sem_check::operations_together());
}
TEST_F(SemCheckPart, Timeouts) {
    expect_good(sem_check::timeouts());
}
TEST_F(SemCheckPart, Undo) {
    expect_good(sem_check::undo());
}
TEST_F(SemCheckPart, BadArguments) {
    expect_good(sem_check::bad_arguments());
}
TEST_F(SemCheckPart, Control) {
    expect_good(sem_check::control());
}
TEST_F(SemCheckPart, Refusals) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    expect_good(sem_check::refusals());
}
TEST_F(SemCheckPart, RefusalsByLabelAreTriedOnlyWhereThereAreLabels) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    expect_good(sem_check::refusals_by_label());
}
TEST_F(SemCheckPart, Removal) {
    expect_good(sem_check::removal(6, 10));
}
TEST_F(SemCheckPart, Conservation) {
    expect_good(sem_check::conservation(4, 500));
}

TEST(SemCheck, AFaultNamesWhatWasExpected) {
    EXPECT_TRUE(sem_check::expect_error("a wait", 0, 0));
    EXPECT_THAT(sem_check::expect_error("a wait", 0, EIDRM).error().text(),
                HasSubstr("a wait: expected EIDRM (Identifier removed), got success"));
    auto task = sem_check::start_task([] { return sem_check::expect_in_task("a wait, expected EIDRM", 0, EIDRM); });
    ASSERT_TRUE(task);
    EXPECT_THAT(sem_check::finish(*task).error().text(), HasSubstr("a wait, expected EIDRM in task 1: it succeeded"));
}

TEST(SemCheck, RunsAllPartsAndMeasuresNothing) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const auto check = make_sem_check();
    const RunContext context{{{"tasks", 3}, {"loops", 100}, {"removals", 2}}, std::chrono::seconds(5)};
    ASSERT_TRUE(check->prepare(context));
    Meter meter({});
    const auto own = check->run(context, meter);
    ASSERT_TRUE(own) << own.error().text();
    EXPECT_TRUE(own->empty());
    EXPECT_GT(meter.started_ns(), 0) << "when the check ran is stored";
    EXPECT_GT(meter.stopped_ns(), meter.started_ns());
}

}  // namespace
}  // namespace kab::guest
