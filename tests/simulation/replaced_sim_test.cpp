// Programs of the guest that are replaced in the middle of an evaluation.
#include <gmock/gmock.h>

#include "tests/simulation/world.h"

namespace kab::sim {
namespace {

using testing::HasSubstr;

/// From boot `from` (from 1) until before boot `to` another agent is packed.
class Replaced : public Steady {
  public:
    explicit Replaced(int from, int to = 1'000'000) : from_(from), to_(to) {}
    std::string agent(const Place&) override {
        ++boots_;
        return replaced() ? "another" : "agent";
    }
    msg::Outcome outcome(const Place&) override { return replaced() ? fault_ : msg::Outcome::ok; }
    bool hears_cancel() override { return hears_cancel_; }
    bool replaced() const { return boots_ >= from_ && boots_ < to_; }

    msg::Outcome fault_ = msg::Outcome::ok;
    bool hears_cancel_ = true;

  private:
    int from_, to_, boots_ = 0;
};

std::string run_to_end(World& world, const std::string& key = "key") {
    const auto uid = world.submit(experiment(), key);
    while (world.run(1000)) {
    }
    return uid;
}

/// Outcomes of all attempts, in order, and what they packed.
std::string attempts(World& world) {
    auto reader = store::Store::open(world.paths().database(), store::Store::Mode::read_only);
    if (!reader) return reader.error().text();
    const auto table = (*reader)->query(
        "SELECT group_concat(outcome || ' ' || json_extract(environment, '$.agent_sha256'), ', ') FROM (SELECT * FROM "
        "attempt ORDER BY id)");
    if (!table) return table.error().text();
    return table->rows.at(0).at(0).value_or("");
}

TEST(ReplacedSim, AnAgentReplacedBetweenTwoBootsEndsTheEvaluation) {
    Replaced script(3);
    World world(script);
    world.live();
    const auto uid = run_to_end(world);
    const auto row = world.evaluation(uid);
    EXPECT_EQ(row.status, "failed");
    EXPECT_EQ(row.detail,
              "6 attempts at one boot failed for want of infrastructure; the last: kab-agent was replaced after the "
              "evaluation began (its SHA-256 was agent... then and is another... now); run the evaluation anew");
    EXPECT_EQ(attempts(world),
              "ok agent, ok agent, infra-error another, infra-error another, infra-error another, infra-error "
              "another, infra-error another, infra-error another");
    // The next one begins with the agent that there is now, though this kabd started with the other.
    const auto next = run_to_end(world, "another key");
    EXPECT_EQ(world.evaluation(next).status, "done") << world.evaluation(next).detail;
    EXPECT_NE(world.evaluation(next).plan_hash, row.plan_hash);
}

TEST(ReplacedSim, NoBootOfAnotherAgentCounts) {
    Replaced script(3, 5);
    World world(script);
    world.live();
    EXPECT_EQ(result_of(world, run_to_end(world)), undisturbed());
    EXPECT_THAT(attempts(world), testing::StartsWith("ok agent, ok agent, infra-error another, infra-error another, "
                                                     "ok agent, ok agent"));
}

TEST(ReplacedSim, NoFaultOfAnotherAgentIsTheKernels) {
    // It did not know the workload, and ended before the host heard that it should.
    Replaced script(3, 4);
    script.fault_ = msg::Outcome::workload_error;
    script.hears_cancel_ = false;
    World world(script);
    world.live();
    EXPECT_EQ(result_of(world, run_to_end(world)), undisturbed());
    EXPECT_THAT(attempts(world), HasSubstr("infra-error another"));
}

TEST(ReplacedSim, ACrashIsTheKernelsUnderAnyAgent) {
    Replaced script(3, 4);
    script.fault_ = msg::Outcome::kernel_crash;
    script.hears_cancel_ = false;
    World world(script);
    world.live();
    run_to_end(world);
    EXPECT_THAT(attempts(world), HasSubstr("kernel-crash another"));
}

TEST(ReplacedSim, ThePlanIsThatOfTheAgentInTheFirstBoot) {
    Steady script;
    World world(script);
    world.agent = "what was there when kabd started";
    world.live();
    EXPECT_EQ(result_of(world, run_to_end(world)), undisturbed());
}

TEST(ReplacedSim, AnAgentReplacedWhileKabdWasDownEndsTheEvaluation) {
    Replaced script(3);
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    while (!script.replaced()) ASSERT_TRUE(world.run(1));
    world.die();
    world.agent = "another";
    world.live();
    while (world.run(1000)) {
    }
    const auto row = world.evaluation(uid);
    EXPECT_EQ(row.status, "failed");
    EXPECT_THAT(row.detail, HasSubstr("kab-agent, the guests' shell, QEMU or kab was replaced after the evaluation "
                                      "began (its plan hash was " +
                                      row.plan_hash.substr(0, 12) + "... then and is "));
}

}  // namespace
}  // namespace kab::sim
