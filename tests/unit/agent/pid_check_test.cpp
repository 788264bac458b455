#include "agent/guest/workloads/pid_check.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "agent/guest/workloads/pid_check_parts.h"
#include "common/files.h"

namespace kab::guest {
namespace {

using testing::HasSubstr;

class PidCheck : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root may make PID namespaces";
    }
    void TearDown() override { EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left"; }
};

TEST_F(PidCheck, EachPartPassesOnAKernelThatIsRight) {
    const std::pair<const char*, Status> parts[] = {{"numbers", pid_check::check_numbers()},
                                                    {"signals", pid_check::check_signals()},
                                                    {"orphans", pid_check::check_orphans()},
                                                    {"set_tid", pid_check::check_set_tid()},
                                                    {"the end", pid_check::check_the_end(5)}};
    for (const auto& [name, good] : parts) EXPECT_TRUE(good) << name << ": " << good.error().text();
}

constexpr const char* limit_of_namespaces = "/proc/sys/user/max_pid_namespaces";

TEST_F(PidCheck, PassesOnAKernelThatIsRight) {
    const auto check = make_pid_check();
    const RunContext context{{{"processes", 5}, {"rounds", 5}}, std::chrono::seconds(10)};
    ASSERT_TRUE(check->prepare(context));
    Meter meter({});
    const auto good = check->run(context, meter);
    ASSERT_TRUE(good) << good.error().text();
    EXPECT_TRUE(good->empty()) << "a check has no metric";
    const auto drained = check->drain(context, meter);
    ASSERT_TRUE(drained) << drained.error().text();
}

/// Without the right to set limits.
Status prepare_without_limits() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
    if (::syscall(SYS_capget, &header, data) != 0) return fail_errno(errno, "capget");
    data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
    if (::syscall(SYS_capset, &header, data) != 0) return fail_errno(errno, "capset");
    if (::access(limit_of_namespaces, F_OK) == 0 && UniqueFd(::open(limit_of_namespaces, O_WRONLY | O_CLOEXEC)))
        return fail(Fault::io, "the limit can be set nevertheless");
    return make_pid_check()->prepare({{{"processes", 5}, {"rounds", 5}}, std::chrono::seconds(10)});
}

TEST_F(PidCheck, TheLimitOfAMachineOfOthersIsLeftAlone) {
    auto child = CheckedChild::start("child", prepare_without_limits);
    ASSERT_TRUE(child) << child.error().text();
    const auto good = child->wait();
    EXPECT_TRUE(good) << good.error().text();
}

/// In a user namespace, whose limit is its own: namespaces are counted, also one that is in use.
Status count_namespaces() {
    const auto before = pid_check::Setting::take(limit_of_namespaces);
    if (!before) return pass(before);
    const auto none = pid_check::lowest_limit();
    if (!none) return pass(none);
    if (auto right = pid_check::expect("the lowest limit without a namespace", *none, 1); !right) return right;
    const auto used = pid_check::outside([]() -> Status {
        auto first = CheckedChild::start("process 1", []() -> Status {
            for (;;) ::pause();
        });
        if (!first) return pass(first);
        const auto timeout = pid_check::wait_until_freed(1, std::chrono::milliseconds(20));
        const auto one = pid_check::lowest_limit();
        if (::kill(first->pid(), SIGKILL) != 0) return fail_errno(errno, "kill");
        (void)first->wait();  // ends by the signal
        if (timeout) return fail(Fault::io, "a namespace in use is taken for freed");
        if (timeout.error().fault != Fault::timeout) return timeout;
        return one ? pid_check::expect("the lowest limit with a namespace", *one, 2) : pass(one);
    });
    if (!used) return used;
    if (auto freed = pid_check::wait_until_freed(1, std::chrono::seconds(10)); !freed) return freed;
    return pid_check::expect("the limit", pid_check::Setting::take(limit_of_namespaces)->original(),
                             before->original());
}

TEST_F(PidCheck, NamespacesAreCountedByTheirLimit) {
    auto child = CheckedChild::start("user namespace", []() -> Status {
        if (::unshare(CLONE_NEWUSER) != 0) return fail_errno(errno, "unshare(CLONE_NEWUSER)");
        return count_namespaces();
    });
    ASSERT_TRUE(child) << child.error().text();
    const auto good = child->wait();
    if (!good && good.error().text().find("unshare(CLONE_NEWUSER)") != std::string::npos)
        GTEST_SKIP() << good.error().text();
    EXPECT_TRUE(good) << good.error().text();
}

/// Before Linux 6.14 all PID namespaces share one kernel.pid_max, which is not for a test to lower.
bool has_own_pid_max() {
    utsname name{};
    int major = 0, minor = 0;
    if (::uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &major, &minor) != 2) return false;
    return major > 6 || (major == 6 && minor >= 14);
}

constexpr const char* pid_max = "/proc/sys/kernel/pid_max";

/// In process 1 of a namespace with few numbers: all of them are taken, then none.
Status run_out_of_numbers() {
    if (auto good = pid_check::check_reuse(20, false); !good) return good;
    auto lowered = pid_check::Setting::take(pid_max);
    if (!lowered) return pass(lowered);
    if (auto set = lowered->set(300 + 20 + 8 * ::sysconf(_SC_NPROCESSORS_CONF)); !set) return set;
    pid_t pid = 0;
    while ((pid = ::fork()) > 0) continue;
    if (pid == 0)
        for (;;) ::pause();
    if (errno != EAGAIN) return fail_errno(errno, "fork");
    const auto out = pid_check::check_reuse(20, false);
    if (out) return fail(Fault::io, "no number is free, and nothing is wrong");
    if (!out.error().text().ends_with("(are the numbers of processes that are gone free again?)")) return out;
    if (::kill(-1, SIGKILL) != 0) return fail_errno(errno, "kill");
    while (::waitpid(-1, nullptr, 0) > 0) continue;
    return pid_check::check_reuse(20, true);
}

TEST_F(PidCheck, NumbersThatAreNotFreeAgainAreMissed) {
    if (!has_own_pid_max()) GTEST_SKIP() << "the kernel has one pid_max for all";
    const auto before = pid_check::Setting::take(pid_max);
    ASSERT_TRUE(before) << before.error().text();
    const auto good = pid_check::outside([]() -> Status {
        auto first = CheckedChild::start("process 1", run_out_of_numbers);
        return first ? first->wait() : pass(first);
    });
    EXPECT_TRUE(good) << good.error().text();
    EXPECT_EQ(pid_check::Setting::take(pid_max)->original(), before->original());
}

TEST_F(PidCheck, FindsMainlinesDepth) {
    const auto depth = pid_check::find_depth();
    ASSERT_TRUE(depth) << depth.error().text();
    EXPECT_TRUE(depth->supported);
    EXPECT_GE(depth->levels, 1);
    EXPECT_LE(depth->levels, 32);
}

TEST_F(PidCheck, NumbersOfAFileAreReadAndCompared) {
    const auto numbers = pid_check::numbers_in("/proc/self/status", "NSpid");
    ASSERT_TRUE(numbers) << numbers.error().text();
    EXPECT_EQ(numbers->back(), ::getpid());
    EXPECT_TRUE(pid_check::expect_numbers("/proc/self/status", "Pid", {::getpid()}));
    const auto wrong = pid_check::expect_numbers("/proc/self/status", "Pid", {1, 2});
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().text(), HasSubstr("expected 1 2"));
    EXPECT_FALSE(pid_check::numbers_in("/proc/self/status", "NoSuchKey"));
    EXPECT_FALSE(pid_check::numbers_in("/proc/self/status", "Name"));
    EXPECT_FALSE(pid_check::numbers_in("/no/such/file", "Pid"));
}

TEST_F(PidCheck, WhatGoesWrongOutsideIsToldWithItsProcess) {
    const auto wrong = pid_check::outside([] { return pid_check::expect("getpid()", 3, 1); });
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().text(), "outside: getpid() is 3, expected 1");
}

}  // namespace
}  // namespace kab::guest
