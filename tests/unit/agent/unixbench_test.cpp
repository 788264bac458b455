// spawn, execl, shell and ps, on this machine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <sstream>

#include "agent/guest/workloads/execl.h"
#include "agent/guest/workloads/ps.h"
#include "agent/guest/workloads/shell.h"
#include "agent/guest/workloads/spawn.h"
#include "agent/guest/workloads/unixbench.h"
#include "common/files.h"

namespace kab::guest {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string program = std::string(KAB_BINARY_DIR) + "/bin/kab-agent";

using Parameters = std::map<std::string, std::int64_t>;

/// Prepare, run and drain; the run's metrics.
Result<std::vector<msg::Sample>> carry_out(Workload& workload, const Parameters& with) {
    const RunContext context{with, std::chrono::seconds(5)};
    if (auto prepared = workload.prepare(context); !prepared) return pass(prepared);
    Meter meter({});
    auto own = workload.run(context, meter);
    auto left = workload.drain(context, meter);
    if (left && !left->empty()) return fail(Fault::internal, "the drain has a metric");
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
    if (own && meter.elapsed_ns() <= 0) return fail(Fault::internal, "the meter did not run");
    return own;
}

double value(const std::vector<msg::Sample>& samples, std::string_view metric) {
    for (const auto& one : samples)
        if (one.metric == metric) return one.value.value_or(-1);
    return -1;
}

TEST(UnixBench, IndexIsTheRateBesideThePublishedBaseline) {
    WorkTimes times;
    times.started_ns = 5;
    times.stopped_ns = 2000000005;
    auto samples = unixbench_samples(252, times, spawn_baseline);
    EXPECT_DOUBLE_EQ(value(samples, "rate"), 126);
    EXPECT_DOUBLE_EQ(value(samples, "index"), 10);
    EXPECT_DOUBLE_EQ(value(unixbench_samples(86, times, execl_baseline), "index"), 10);
    times.stopped_ns = 60000000005;
    EXPECT_DOUBLE_EQ(value(unixbench_samples(424, times, shell_baseline(1)), "index"), 100);
    EXPECT_DOUBLE_EQ(value(unixbench_samples(6, times, shell_baseline(8)), "index"), 10);
    samples = unixbench_samples(6, times, shell_baseline(2));
    EXPECT_FALSE(samples[1].value);
    EXPECT_THAT(samples[1].reason, HasSubstr("no baseline"));
}

class Nested : public testing::TestWithParam<std::int64_t> {
  protected:
    void SetUp() override {
        if (GetParam() == 1 && ::geteuid() != 0) GTEST_SKIP() << "only root may make a PID namespace";
    }
};

TEST_P(Nested, SpawnCountsItsLoops) {
    const auto workload = make_spawn();
    for (int run = 0; run < 2; ++run) {
        const auto samples = carry_out(*workload, {{"loops", 20}, {"nested", GetParam()}});
        ASSERT_TRUE(samples) << samples.error().text();
        EXPECT_GT(value(*samples, "rate"), 0);
        EXPECT_DOUBLE_EQ(value(*samples, "index"), value(*samples, "rate") / 126 * 10);
    }
}

TEST_P(Nested, ExeclReplacesItselfAsOftenAsAsked) {
    const auto workload = make_execl_of(program);
    for (const std::int64_t loops : {1, 5}) {
        const auto samples = carry_out(*workload, {{"loops", loops}, {"nested", GetParam()}});
        ASSERT_TRUE(samples) << samples.error().text();
        EXPECT_GT(value(*samples, "rate"), 0);
    }
}

TEST_P(Nested, PsSeesTheProcessesAndItsOwnTimeInTheKernel) {
    const auto workload = make_ps();
    const auto samples = carry_out(*workload, {{"processes", 20}, {"loops", 20}, {"nested", GetParam()}});
    ASSERT_TRUE(samples) << samples.error().text();
    EXPECT_GT(value(*samples, "system-time"), 0);
    EXPECT_GE(value(*samples, "elapsed"), value(*samples, "system-time") / 2);
}

TEST_P(Nested, ShellRunsItsScripts) {
    const auto workload = make_shell_of("/bin/sh", "/usr/bin");
    for (const std::int64_t concurrency : {1, 3}) {
        const auto samples = carry_out(*workload, {{"loops", 2}, {"concurrency", concurrency}, {"nested", GetParam()}});
        ASSERT_TRUE(samples) << samples.error().text();
        EXPECT_GT(value(*samples, "rate"), 0);
    }
}

/// A tool that notes its name in `log` before it is busybox's.
void write_tool(const fs::path& tool, const fs::path& log) {
    const auto name = tool.filename().string();
    ASSERT_TRUE(write_file(
        tool, fmt::format("#!/bin/busybox sh\necho {} >>{}\nexec /bin/busybox {} \"$@\"\n", name, log.string(), name)));
    fs::permissions(tool, fs::perms::owner_all);
}

/// Debian's busybox runs a tool that is called by name without an execve().
TEST(Shell, EachToolIsExecuted) {
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "busybox is not installed";
    const auto directory = TempDir::make("kab-tools-");
    ASSERT_TRUE(directory);
    const auto log = directory->path() / "log", shell = directory->path() / "sh";
    fs::create_symlink("/bin/busybox", shell);
    for (const char* tool : {"sort", "od", "grep", "tee", "wc", "rm"}) write_tool(directory->path() / tool, log);
    const auto samples =
        carry_out(*make_shell_of(shell, directory->path()), {{"loops", 2}, {"concurrency", 3}, {"nested", 0}});
    ASSERT_TRUE(samples) << samples.error().text();
    const auto noted = read_file(log);
    ASSERT_TRUE(noted) << "no tool was executed";
    std::map<std::string, int> executed;
    std::istringstream lines(*noted);
    for (std::string line; std::getline(lines, line);) ++executed[line];
    const std::map<std::string, int> expected{{"sort", 12}, {"od", 6}, {"grep", 6}, {"tee", 6}, {"wc", 6}, {"rm", 6}};
    EXPECT_EQ(executed, expected);
}

TEST(Ps, SystemTimeIsAbsentWhereInstructionsAreTheClock) {
    const auto workload = make_ps();
    const RunContext context{{{"processes", 2}, {"loops", 1}, {"nested", 0}}, std::chrono::seconds(5), true};
    ASSERT_TRUE(workload->prepare(context));
    Meter meter({});
    const auto samples = workload->run(context, meter);
    ASSERT_TRUE(samples) << samples.error().text();
    EXPECT_FALSE((*samples)[0].value);
    EXPECT_THAT((*samples)[0].reason, HasSubstr("ticks"));
    EXPECT_GT(value(*samples, "elapsed"), 0);
}

TEST(Execl, LinksAreFollowedOnceAndNotInEachCall) {
    const auto directory = TempDir::make("kab-execl-");
    ASSERT_TRUE(directory);
    const auto link = directory->path() / "self";
    fs::create_symlink(program, link);
    const auto workload = make_execl_of(link);
    const RunContext context{{{"loops", 3}, {"nested", 0}}, std::chrono::seconds(5)};
    ASSERT_TRUE(workload->prepare(context));
    fs::remove(link);
    Meter meter({});
    const auto samples = workload->run(context, meter);
    EXPECT_TRUE(samples) << samples.error().text();
}

INSTANTIATE_TEST_SUITE_P(, Nested, testing::Values(0, 1));

TEST(ExeclFailure, NamesTheProgramAndTheCall) {
    const auto samples = carry_out(*make_execl_of("/etc/passwd"), {{"loops", 3}, {"nested", 0}});
    ASSERT_FALSE(samples);
    EXPECT_THAT(samples.error().text(),
                AllOf(HasSubstr("execl of /etc/passwd, call 1 of 3"), HasSubstr("Permission denied")));
    const auto none = carry_out(*make_execl_of("/no/such/program"), {{"loops", 3}, {"nested", 0}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text(), "find /no/such/program: No such file or directory");
}

TEST(ExeclFailure, AnImageThatSaysNothingIsNoSuccess) {
    const auto samples = carry_out(*make_execl_of("/bin/true"), {{"loops", 3}, {"nested", 0}});
    ASSERT_FALSE(samples);
    EXPECT_THAT(samples.error().text(), HasSubstr("without a word"));
}

TEST(Execl, OnlyItsOwnImagesAreTakenForThem) {
    std::string name = "kab-agent";
    char* others[] = {name.data(), nullptr};
    EXPECT_FALSE(is_execl(1, others));
    EXPECT_FALSE(is_execl(0, others + 1));
}

TEST(ShellFailure, AMissingShellIsToldBeforeTheRun) {
    const auto samples = carry_out(*make_shell_of("/no/such/shell", "/bin"), {{"loops", 1}, {"concurrency", 1}});
    ASSERT_FALSE(samples);
    EXPECT_THAT(samples.error().text(), AllOf(HasSubstr("/no/such/shell"), HasSubstr("kab-host packs")));
}

TEST(ShellFailure, ATextThatIsNotFoundAgainFailsTheRun) {
    // Without its tools no script can do its work.
    const auto samples =
        carry_out(*make_shell_of("/bin/sh", "/nowhere"), {{"loops", 1}, {"concurrency", 2}, {"nested", 0}});
    ASSERT_FALSE(samples);
    EXPECT_THAT(samples.error().text(), HasSubstr("the shell of round 1 of 1 exited with status"));
}

/// What is wrong with runs that may not fork; empty when they are refused as they should be. Not as root, who may.
std::string runs_without_forks() {
    while (::getuid() == 0 && ::setuid(65534) != 0)
        if (errno != EAGAIN) return "setuid";
    // The worker itself still can be forked by a limit of one more than there are; its children cannot.
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) return "setrlimit";
    const auto spawned = carry_out(*make_spawn(), {{"loops", 3}, {"nested", 0}});
    if (spawned) return "it ran";
    const auto text = spawned.error().text();
    return text == "fork of the worker: Resource temporarily unavailable" ? "" : text;
}

TEST(SpawnFailure, AWorkerThatCannotBeForkedIsTold) {
    EXPECT_EXIT(
        {
            const auto wrong = runs_without_forks();
            std::fputs(wrong.c_str(), stderr);
            std::_Exit(wrong.empty() ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}

/// The same for a loop inside the worker, which is stopped after some children.
TEST(BenchWorker, AnErrorInsideReachesTheRunWithItsFault) {
    Work work;
    work.work = []() -> Result<WorkTimes> { return fail(Fault::usage, "raise 'loops'"); };
    Meter meter({});
    const auto times = run_in_worker(work, false, meter);
    ASSERT_FALSE(times);
    EXPECT_EQ(times.error().fault, Fault::usage);
    EXPECT_EQ(times.error().text(), "raise 'loops'");
}

TEST(BenchWorker, AWorkerThatIsKilledIsTold) {
    Work work;
    work.work = []() -> Result<WorkTimes> {
        ::kill(::getpid(), SIGKILL);
        return WorkTimes{};
    };
    Meter meter({});
    const auto times = run_in_worker(work, false, meter);
    ASSERT_FALSE(times);
    EXPECT_THAT(times.error().text(), HasSubstr("the worker was killed by signal 9"));
}

TEST(BenchWorker, WhatIsDoneBeforeAndAfterTheWorkIsNotTimed) {
    Work work;
    std::string order;
    work.get_ready = [&] {
        order += "r";
        return Status{};
    };
    work.work = [&]() -> Result<WorkTimes> {
        order += "w";
        WorkTimes times;
        times.started_ns = raw_clock_ns();
        times.stopped_ns = raw_clock_ns();
        return times;
    };
    work.clean_up = [&]() -> Status {
        order += "c";
        return order == "rwc" ? Status{} : fail(Fault::internal, "order is {}", order);
    };
    Meter meter({});
    const auto times = run_in_worker(work, false, meter);
    ASSERT_TRUE(times) << times.error().text();
    EXPECT_GE(times->started_ns, meter.started_ns());
    EXPECT_LE(times->stopped_ns, meter.stopped_ns());
    EXPECT_TRUE(order.empty()) << "it is done in another process";
}

}  // namespace
}  // namespace kab::guest
