#include "agent/guest/workloads/proc_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/guest/futex.h"

namespace kab::guest {
namespace {

using testing::HasSubstr;

RunContext context(std::int64_t tasks, std::int64_t loops = 20) {
    return {{{"tasks", tasks}, {"loops", loops}, {"chunk", 1024}, {"memory", 64}}, std::chrono::seconds(5)};
}

void expect_no_child() {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a task is left";
}

class ProcRead : public testing::TestWithParam<std::int64_t> {};

TEST_P(ProcRead, GivesTheTimeFromTheGoToTheLastClose) {
    const auto workload = make_proc_read();
    for (int run = 0; run < 2; ++run) {  // the same object serves all runs of a boot
        ASSERT_TRUE(workload->prepare(context(GetParam())));
        Meter meter({});
        const auto own = workload->run(context(GetParam()), meter);
        ASSERT_TRUE(own) << own.error().text();
        ASSERT_EQ(own->size(), 1U);
        EXPECT_EQ(own->front().metric, "elapsed");
        EXPECT_EQ(own->front().value.value(), static_cast<double>(meter.elapsed_ns()));
        EXPECT_GT(meter.elapsed_ns(), 0);
        expect_no_child();
        const auto left = workload->drain(context(GetParam()), meter);
        ASSERT_TRUE(left);
        EXPECT_TRUE(left->empty());
    }
}

// One a CPU spins; 40 are more than there are CPUs for, and sleep.
INSTANTIATE_TEST_SUITE_P(, ProcRead, testing::Values(1, 2, 40));

TEST(ProcReadFailure, NamesTheCallTheTaskAndTheCause) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizers look at memory through a pipe, and here no file can be opened";
#endif
    const auto workload = make_proc_read();
    ASSERT_TRUE(workload->prepare(context(3)));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    Meter meter({});
    const auto own = workload->run(context(3), meter);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_FALSE(own);
    EXPECT_THAT(own.error().text(), HasSubstr("open /proc/cpuinfo in task "));
    EXPECT_THAT(own.error().text(), HasSubstr("Too many open files"));
    EXPECT_THAT(own.error().text(), HasSubstr("(3 of 3 tasks failed)"));
    expect_no_child();
}

/// What is wrong with a run that may not fork; empty when it is refused as it should be. Not as root, who may.
std::string run_without_forks() {
    // EAGAIN: the kernel is short of something for a moment.
    while (::getuid() == 0 && ::setuid(65534) != 0)
        if (errno != EAGAIN) return std::string("setuid: ") + std::strerror(errno);
    const auto workload = make_proc_read();
    if (!workload->prepare(context(3))) return "prepare";
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) return "setrlimit";
    Meter meter({});
    const auto own = workload->run(context(3), meter);
    if (own) return "it ran";
    if (::waitpid(-1, nullptr, WNOHANG) != -1) return "a task is left";
    return own.error().text().find("fork of task 1 of 3: Resource temporarily unavailable") == 0 ? ""
                                                                                                 : own.error().text();
}

TEST(ProcReadFailure, ATaskThatCannotBeForkedIsToldAndLeavesNone) {
    EXPECT_EXIT(
        {
            const auto wrong = run_without_forks();
            std::fputs(wrong.c_str(), stderr);
            std::_Exit(wrong.empty() ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

TEST(Futex, AWaitForAnotherValueReturnsAtOnceAndALimitEndsOne) {
    FutexWord word{1};
    EXPECT_EQ(futex_wait(word, 0), 0);
    EXPECT_EQ(futex_wait(word, 1, std::chrono::milliseconds(1)), 0);
    EXPECT_EQ(futex_wake_all(word), 0);
}

}  // namespace
}  // namespace kab::guest
