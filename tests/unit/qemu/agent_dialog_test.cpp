#include "agent/host/qemu/agent_dialog.h"

#include <gtest/gtest.h>

namespace kab::qemu {
namespace {

msg::AgentPlan plan_of(std::int64_t runs) {
    msg::AgentPlan plan;
    for (std::int64_t seq = 1; seq <= runs; ++seq) {
        msg::RunOrder order;
        order.seq = seq;
        order.workload = "ipcns-exit";
        plan.runs.push_back(order);
    }
    return plan;
}

std::string wire(const msg::Message& message) {
    return frame(msg::encode(message));
}

msg::RunFinished finished(std::int64_t seq) {
    msg::RunFinished run;
    run.seq = seq;
    return run;
}

/// Feeds all messages; the error, or empty.
std::string converse(AgentDialog& dialog, const std::vector<msg::Message>& messages) {
    for (const auto& message : messages) {
        dialog.push(wire(message));
        const auto next = dialog.next();
        if (!next) return next.error().message;
        EXPECT_TRUE(next->has_value());
    }
    return {};
}

TEST(AgentDialog, a_whole_conversation) {
    const auto plan = plan_of(2);
    AgentDialog dialog(plan);
    const auto error = converse(dialog, {msg::AgentHello{}, msg::RunStarted{1}, finished(1), msg::RunStarted{2},
                                         finished(2), msg::AgentDone{2}});
    EXPECT_EQ(error, "");
    EXPECT_TRUE(dialog.ended());
    EXPECT_EQ(dialog.runs_finished(), 2);
}

TEST(AgentDialog, bytes_may_come_in_pieces) {
    const auto plan = plan_of(1);
    AgentDialog dialog(plan);
    const std::string bytes = wire(msg::AgentHello{}) + wire(msg::RunStarted{1});
    int messages = 0;
    for (const char c : bytes) {
        dialog.push({&c, 1});
        for (auto next = dialog.next(); next && next->has_value(); next = dialog.next()) ++messages;
    }
    EXPECT_EQ(messages, 2);
    EXPECT_EQ(dialog.run_in_progress(), 1);
}

TEST(AgentDialog, what_comes_out_of_turn_is_refused) {
    const auto plan = plan_of(2);
    const msg::Message hello = msg::AgentHello{};
    const std::vector<std::pair<std::vector<msg::Message>, std::string>> cases = {
        {{msg::RunStarted{1}}, "run 1 started out of turn"},
        {{hello, hello}, "a second hello out of turn"},
        {{hello, msg::RunStarted{2}}, "run 2 started out of turn"},
        {{hello, finished(1)}, "run 1 finished out of turn"},
        {{hello, msg::RunStarted{1}, finished(2)}, "run 2 finished out of turn"},
        {{hello, msg::RunStarted{1}, msg::AgentDone{}}, "done out of turn"},
        {{hello, msg::RunStarted{1}, finished(1), msg::RunStarted{1}}, "run 1 started out of turn"},
        {{hello, msg::AgentDone{}, msg::RunStarted{1}}, "run 1 started out of turn"},
        {{hello, msg::Shutdown{}}, "a message that agents do not send out of turn"},
    };
    for (const auto& [messages, expected] : cases) {
        AgentDialog dialog(plan);
        EXPECT_EQ(converse(dialog, messages), expected);
    }
    AgentDialog last_words(plan);
    EXPECT_EQ(converse(last_words, {msg::AgentError{0, "killed"}}), "") << "may come before hello";
}

TEST(AgentDialog, noise_and_other_versions_are_errors) {
    const auto plan = plan_of(1);
    AgentDialog dialog(plan);
    dialog.push("login: ");
    EXPECT_FALSE(dialog.next());
    AgentDialog other(plan);
    msg::AgentHello hello;
    hello.major = 2;
    EXPECT_EQ(converse(other, {hello}), "speaks protocol 2.2, this is 1.2");
}

TEST(AgentDialog, an_agent_that_does_not_know_what_is_asked_is_refused) {
    auto plan = plan_of(2);
    msg::AgentHello old;
    old.minor = 1;
    AgentDialog plain(plan);
    EXPECT_EQ(converse(plain, {old}), "");
    plan.runs[1].profile = {997, {{"all", {"*lock*"}, {}, false}, {"kernel", {"*lock*"}, {}, true}}};
    AgentDialog share(plan);
    EXPECT_EQ(converse(share, {old}), "speaks protocol 1.1, this is 1.2");
    AgentDialog current(plan);
    EXPECT_EQ(converse(current, {msg::AgentHello{}}), "");
}

TEST(PlanMismatch, clock_and_cpus_are_checked) {
    msg::AgentHello hello;
    hello.clocksource = "tsc";
    hello.cpus = 2;
    BootPlan planned;
    planned.clocksources = {"tsc"};
    planned.cpus = 2;
    EXPECT_EQ(plan_mismatch(hello, planned), "");
    EXPECT_EQ(missing_cpus(hello, planned), "");
    hello.cpus = 3;
    EXPECT_EQ(plan_mismatch(hello, planned), "the guest has 3 CPUs, planned were 2");
    hello.cpus = 1;
    EXPECT_EQ(plan_mismatch(hello, planned), "") << "that is the kernel's fault";
    EXPECT_EQ(missing_cpus(hello, planned), "the kernel brought up 1 of 2 CPUs");
    hello.clocksource = "tsc-early";
    EXPECT_EQ(plan_mismatch(hello, planned), "") << "becomes tsc in the first second";
    hello.clocksource = "refined-jiffies";
    EXPECT_EQ(plan_mismatch(hello, planned),
              "the guest's clocksource is refined-jiffies, planned was tsc: its times cannot be trusted");
    planned.clocksources.clear();
    planned.cpus = 0;
    EXPECT_EQ(plan_mismatch(hello, planned), "");
    EXPECT_EQ(missing_cpus(hello, planned), "");
}

TEST(PlanMismatch, timers_that_are_there_must_be_in_use) {
    msg::AgentHello hello;
    BootPlan planned;
    EXPECT_EQ(plan_mismatch(hello, planned), "") << "a kernel without CONFIG_HIGH_RES_TIMERS";
    hello.high_resolution_inactive = true;
    EXPECT_EQ(plan_mismatch(hello, planned), "the kernel has high-resolution timers, but they are not in use");
    planned.timers = false;
    EXPECT_EQ(plan_mismatch(hello, planned), "") << "the experiment changes how time is kept";
}

}  // namespace
}  // namespace kab::qemu
