#include "agent/guest/run_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

namespace kab::guest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// What the fake workload saw and is to do. Static, as the registry holds plain functions.
struct Script {
    std::vector<std::string> calls;
    std::int64_t fail_prepare_at = 0, fail_run_at = 0, fail_drain_at = 0;  ///< by number of the call, from 1
    std::map<std::string, std::int64_t> with;
    Nanoseconds drain_limit{};
    int made = 0, destroyed = 0;
};
Script script;

class FakeWorkload final : public Workload {
  public:
    FakeWorkload() { ++script.made; }
    ~FakeWorkload() override { ++script.destroyed; }
    Status prepare(const RunContext& context) override {
        script.calls.push_back("prepare");
        script.with = context.with;
        if (++number_ == script.fail_prepare_at) return fail(Fault::io, "prepare went wrong");
        return {};
    }
    Result<std::vector<msg::Sample>> run(const RunContext&, Meter& meter) override {
        script.calls.push_back("run");
        if (auto started = meter.start(); !started) return pass(started);
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        if (number_ == script.fail_run_at) return fail(Fault::io, "unshare in child 17: No space left on device");
        return std::vector{sample("elapsed", 5)};
    }
    Result<std::vector<msg::Sample>> drain(const RunContext& context, const Meter&) override {
        script.calls.push_back("drain");
        script.drain_limit = context.drain_limit;
        if (number_ == script.fail_drain_at) return fail(Fault::timeout, "backlog not drained within 1s");
        return std::vector{sample("backlog", 7)};
    }

  private:
    std::int64_t number_ = 0;
};

constexpr WorkloadEntry registry[] = {
    {"ipcns-exit", []() -> std::unique_ptr<Workload> { return std::make_unique<FakeWorkload>(); }}};

/// The host's end, which sends everything before the loop starts and reads after it.
class RunLoop : public testing::Test {
  protected:
    void SetUp() override {
        script = {};
        std::signal(SIGPIPE, SIG_IGN);
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        agent_.emplace(UniqueFd(ends[0]), "test channel");
        host_fd_ = ends[1];
        host_.emplace(UniqueFd(ends[1]), "test host");
    }
    RunLoopResult loop(const std::function<Status()>& still_sound = [] { return Status{}; }) {
        ::shutdown(host_fd_, SHUT_WR);  // a loop that waits for more must fail, not hang
        auto result = run_loop(*agent_, registry, still_sound);
        agent_.reset();
        return result;
    }
    template <class T>
    T next() {
        auto message = host_->receive();
        EXPECT_TRUE(message) << message.error().text();
        if (!message || !std::holds_alternative<T>(*message)) {
            ADD_FAILURE() << "expected another message: " << (message ? msg::encode(*message) : "none");
            return T{};
        }
        return std::get<T>(*message);
    }
    void expect_end() { EXPECT_FALSE(host_->receive()); }
    static msg::RunOrder order(std::int64_t seq, std::vector<std::string> counters = {}) {
        msg::RunOrder run;
        run.seq = seq;
        run.workload = "ipcns-exit";
        run.counters = std::move(counters);
        return run;
    }
    static msg::AgentPlan plan(std::vector<msg::RunOrder> runs) { return {std::move(runs), 0, 0}; }

    std::optional<Channel> agent_, host_;
    int host_fd_ = -1;
};

std::vector<std::string> metrics(const msg::RunFinished& finished) {
    std::vector<std::string> names;
    for (const auto& each : finished.samples) names.push_back(each.metric);
    return names;
}

TEST_F(RunLoop, WhatTheMachineLacksIsTheErrorOfTheFirstRun) {
    ASSERT_TRUE(host_->send(plan({order(1), order(2)})));
    ::shutdown(host_fd_, SHUT_WR);
    int asked = 0;
    const auto result = run_loop(
        *agent_, registry, [] { return Status{}; }, {},
        [&] {
            ++asked;
            return Status(fail(Fault::io, "no auditing"));
        });
    EXPECT_EQ(result.ending, Ending::reported);
    EXPECT_EQ(next<msg::RunStarted>().seq, 1);
    const auto error = next<msg::AgentError>();
    EXPECT_EQ(error.seq, 1);
    EXPECT_EQ(error.message, "no auditing");
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(script.calls.empty());
}

TEST_F(RunLoop, ACheckAfterWhichLocksAreNotValidatedHasFailed) {
    auto check = order(2);
    check.check = true;
    ASSERT_TRUE(host_->send(plan({order(1), check, order(3)})));
    ::shutdown(host_fd_, SHUT_WR);
    int asked = 0;
    const auto ready = [] { return Status{}; };
    const auto result = run_loop(*agent_, registry, ready, {}, ready, [&] {
        ++asked;
        return check_lock_validation(" debug_locks:                             0\n");
    });
    agent_.reset();
    EXPECT_EQ(result.ending, Ending::reported);
    EXPECT_EQ(next<msg::RunStarted>().seq, 1);
    EXPECT_EQ(next<msg::RunFinished>().seq, 1) << "a run that is no check is not asked about";
    EXPECT_EQ(next<msg::RunStarted>().seq, 2);
    const auto error = next<msg::AgentError>();
    EXPECT_EQ(error.seq, 2);
    EXPECT_THAT(error.message, testing::StartsWith("ipcns-exit: the kernel's lock validation is off"));
    EXPECT_EQ(asked, 1);
    expect_end();
}

TEST_F(RunLoop, ASoundCheckIsFinishedAndTheNextRunComes) {
    auto check = order(1);
    check.check = true;
    ASSERT_TRUE(host_->send(plan({check, order(2)})));
    ::shutdown(host_fd_, SHUT_WR);
    const auto good = [] { return Status{}; };
    EXPECT_EQ(run_loop(*agent_, registry, good, {}, good, good).ending, Ending::done);
    next<msg::RunStarted>();
    EXPECT_EQ(next<msg::RunFinished>().seq, 1);
    next<msg::RunStarted>();
    EXPECT_EQ(next<msg::RunFinished>().seq, 2);
    EXPECT_EQ(next<msg::AgentDone>().runs, 2);
}

TEST_F(RunLoop, APackedPlanIsCarriedOutWithoutAWordFromTheHost) {
    auto directory = *TempDir::make("kab-run-loop-");
    auto packed = plan({order(1), order(2, {"task-clock"})});
    packed.exact = true;
    packed.layout_pages = 3;
    const auto file = directory.path() / "plan";
    ASSERT_TRUE(write_file(file, msg::encode(packed)));
    ::shutdown(host_fd_, SHUT_WR);  // whatever is received is an error
    EXPECT_EQ(run_loop(
                  *agent_, registry, [] { return Status{}; }, file)
                  .ending,
              Ending::done);
    EXPECT_EQ(next<msg::RunStarted>().seq, 1);
    const auto timed = next<msg::RunFinished>();
    EXPECT_THAT(metrics(timed), ElementsAre("elapsed", "busy", "idle", "backlog"));
    ASSERT_EQ(timed.conditions.size(), 1U);
    EXPECT_FALSE(timed.conditions[0].value) << "no canary";
    EXPECT_EQ(next<msg::RunStarted>().seq, 2);
    EXPECT_THAT(metrics(next<msg::RunFinished>()), testing::Not(testing::Contains("busy")));
    EXPECT_EQ(next<msg::AgentDone>().runs, 2);
}

TEST_F(RunLoop, APackedPlanThatCannotBeReadIsSaid) {
    auto directory = *TempDir::make("kab-run-loop-");
    const auto file = directory.path() / "plan";
    ASSERT_TRUE(write_file(file, "nonsense"));
    EXPECT_EQ(run_loop(
                  *agent_, registry, [] { return Status{}; }, file)
                  .ending,
              Ending::reported);
    EXPECT_EQ(next<msg::AgentError>().seq, 0);
}

TEST_F(RunLoop, CarriesOutTheRunsInOrder) {
    ASSERT_TRUE(host_->send(plan({order(1), order(2, {"task-clock"}), order(3)})));
    EXPECT_EQ(loop().ending, Ending::done);

    EXPECT_EQ(next<msg::RunStarted>().seq, 1);
    const auto timed = next<msg::RunFinished>();
    EXPECT_EQ(timed.seq, 1);
    EXPECT_GT(timed.started_ns, 0);
    EXPECT_THAT(metrics(timed), ElementsAre("elapsed", "backlog"));
    EXPECT_EQ(timed.samples[1].value, 7);
    ASSERT_EQ(timed.conditions.size(), 1U);
    EXPECT_EQ(timed.conditions[0].metric, "canary");
    EXPECT_GT(timed.conditions[0].value.value_or(0), 0);

    EXPECT_EQ(next<msg::RunStarted>().seq, 2);
    EXPECT_THAT(metrics(next<msg::RunFinished>()),
                ElementsAre("task-clock", "counted-elapsed", "machine-busy", "drain-busy"));
    EXPECT_EQ(next<msg::RunStarted>().seq, 3);
    EXPECT_EQ(next<msg::RunFinished>().seq, 3);
    EXPECT_EQ(next<msg::AgentDone>().runs, 3);
    expect_end();

    EXPECT_EQ(script.calls.size(), 9U) << "the counted run is drained too";
    EXPECT_EQ(script.made, 1) << "one object serves all runs";
    EXPECT_EQ(script.destroyed, 1);
}

TEST_F(RunLoop, FillsInParametersAndTheDrainLimit) {
    auto one = order(1);
    one.with["children"] = 20;
    auto sent = plan({one});
    sent.drain_limit_ns = 5000000000;
    ASSERT_TRUE(host_->send(sent));
    EXPECT_EQ(loop().ending, Ending::done);
    const std::map<std::string, std::int64_t> expected{{"children", 20}, {"concurrency", 0}};
    EXPECT_EQ(script.with, expected);
    EXPECT_EQ(script.drain_limit, std::chrono::seconds(5));
}

TEST_F(RunLoop, DrainingEndsBeforeTheHostGivesUp) {
    auto sent = plan({order(1)});
    sent.drain_limit_ns = sent.run_limit_ns = 60'000'000'000;
    ASSERT_TRUE(host_->send(sent));
    EXPECT_EQ(loop().ending, Ending::done);
    EXPECT_LT(script.drain_limit, std::chrono::seconds(57)) << "the run itself counts, and three seconds for the word";
    EXPECT_GT(script.drain_limit, std::chrono::seconds(40));
}

TEST_F(RunLoop, AShortLimitStillLeavesTimeToSaySo) {
    auto sent = plan({order(1)});
    sent.drain_limit_ns = sent.run_limit_ns = 1'000'000'000;
    ASSERT_TRUE(host_->send(sent));
    EXPECT_EQ(loop().ending, Ending::done);
    EXPECT_LE(script.drain_limit, std::chrono::milliseconds(900));
    EXPECT_GE(script.drain_limit, std::chrono::milliseconds(0));
}

TEST_F(RunLoop, AnEmptyPlanIsDoneAtOnce) {
    ASSERT_TRUE(host_->send(plan({})));
    EXPECT_EQ(loop().ending, Ending::done);
    EXPECT_EQ(next<msg::AgentDone>().runs, 0);
}

struct Failing {
    std::int64_t Script::*where;
    const char* message;
    std::vector<std::string> calls;
};

class RunLoopFailure : public RunLoop, public testing::WithParamInterface<Failing> {};

TEST_P(RunLoopFailure, EndsTheBootWithTheSeqOfTheRun) {
    script.*GetParam().where = 2;
    ASSERT_TRUE(host_->send(plan({order(1), order(2), order(3)})));
    const auto result = loop();
    EXPECT_EQ(result.ending, Ending::reported);
    EXPECT_EQ(result.message, GetParam().message);
    next<msg::RunStarted>();
    next<msg::RunFinished>();
    EXPECT_EQ(next<msg::RunStarted>().seq, 2);
    const auto error = next<msg::AgentError>();
    EXPECT_EQ(error.seq, 2);
    EXPECT_EQ(error.message, GetParam().message);
    expect_end();
    EXPECT_EQ(std::vector(script.calls.begin() + 3, script.calls.end()), GetParam().calls);
    EXPECT_EQ(script.destroyed, 1) << "what it changed is restored";
}

INSTANTIATE_TEST_SUITE_P(
    Steps, RunLoopFailure,
    testing::Values(
        Failing{&Script::fail_prepare_at, "ipcns-exit: prepare went wrong", {"prepare"}},
        Failing{&Script::fail_run_at, "ipcns-exit: unshare in child 17: No space left on device", {"prepare", "run"}},
        Failing{&Script::fail_drain_at,
                "ipcns-exit: backlog not drained within 1s; limits.run is for a run and this: raise it",
                {"prepare", "run", "drain"}}));

TEST_F(RunLoop, AMachineThatChangedIsAFaultOfItsOwn) {
    ASSERT_TRUE(host_->send(plan({order(1)})));
    EXPECT_EQ(loop([]() -> Status { return fail(Fault::infra, "the clocksource changed"); }).ending, Ending::reported);
    next<msg::RunStarted>();
    next<msg::RunFinished>();
    const auto error = next<msg::AgentError>();
    EXPECT_EQ(error.seq, 0);
    EXPECT_EQ(error.message, "the clocksource changed");
    expect_end();
}

class BadPlan : public RunLoop {
  protected:
    void expect_refusal(const msg::Message& sent, const char* part) {
        ASSERT_TRUE(host_->send(sent));
        EXPECT_EQ(loop().ending, Ending::reported);
        const auto error = next<msg::AgentError>();
        EXPECT_EQ(error.seq, 0) << "a plan that cannot be carried out is no workload-error";
        EXPECT_THAT(error.message, HasSubstr(part));
        expect_end();
        EXPECT_TRUE(script.calls.empty()) << "nothing runs of a plan that is wrong further on";
    }
};

TEST_F(BadPlan, UnknownWorkload) {
    auto second = order(2);
    second.workload = "ipcns-exti";
    expect_refusal(plan({order(1), second}), "plan, run 2: this agent has no workload 'ipcns-exti'");
}

TEST_F(BadPlan, UnknownCounter) {
    expect_refusal(plan({order(1, {"cylces"})}), "knows no counter 'cylces'");
}

TEST_F(BadPlan, UnknownParameter) {
    auto one = order(1);
    one.with["childs"] = 5;
    expect_refusal(plan({one}), "no parameter 'childs'");
}

TEST_F(BadPlan, ParameterOutOfRange) {
    auto one = order(1);
    one.with["children"] = 0;
    expect_refusal(plan({one}), "children is 0, allowed are 1 to 100000");
}

TEST_F(BadPlan, SeqZero) {
    expect_refusal(plan({order(0)}), "seq 0");
}

TEST_F(BadPlan, AnotherMessage) {
    expect_refusal(msg::Shutdown{}, "expected the plan");
}

TEST_F(RunLoop, AHostThatIsGoneIsUnheard) {
    host_.reset();
    const auto result = run_loop(*agent_, registry, [] { return Status{}; });
    EXPECT_EQ(result.ending, Ending::unheard);
    EXPECT_THAT(result.message, HasSubstr("test channel"));
    EXPECT_TRUE(script.calls.empty());
}

}  // namespace
}  // namespace kab::guest
