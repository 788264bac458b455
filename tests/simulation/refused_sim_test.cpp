// What the store refuses, and waiting for the machine.
#include <gmock/gmock.h>

#include "tests/simulation/world.h"

namespace kab::sim {
namespace {

/// A host whose conditions have no name.
class Nameless : public Steady {
  public:
    std::vector<msg::Sample> conditions(const Place&, const msg::RunOrder&) override { return {{"", 0.5, "", {}, {}}}; }
};

TEST(RefusedSim, TheEndSaysWhatTheStoreSaid) {
    Nameless script;
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    while (world.run(1000)) {
    }
    const auto row = world.evaluation(uid);
    EXPECT_EQ(row.status, "failed");
    EXPECT_THAT(row.detail,
                testing::StartsWith("6 attempts at one boot failed for want of infrastructure; the last: what "
                                    "was measured cannot be stored: "));
    EXPECT_THAT(row.detail, testing::HasSubstr("CHECK"));
}

/// What it says of one run gets lost, once.
class Forgetful : public Steady {
  public:
    bool loses_run(const Place& place, const msg::RunOrder& run) override {
        return place.block == 2 && run.seq == 2 && !std::exchange(lost_, true);
    }

  private:
    bool lost_ = false;
};

TEST(RefusedSim, ABootOfWhichARunIsMissingDoesNotCount) {
    Forgetful script;
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    while (world.run(1000)) {
    }
    EXPECT_EQ(result_of(world, uid), undisturbed());
    auto reader = store::Store::open(world.paths().database(), store::Store::Mode::read_only);
    ASSERT_TRUE(reader) << reader.error().text();
    const auto failed = (*reader)->query("SELECT detail FROM attempt WHERE outcome = 'infra-error'");
    ASSERT_TRUE(failed);
    ASSERT_EQ(failed->rows.size(), 1U);
    EXPECT_THAT(failed->rows[0][0].value_or(""),
                testing::MatchesRegex("the host says that all went well, but [0-9]+ of "
                                      "[0-9]+ runs arrived"));
}

TEST(WaitingSim, WaitingForTheMachineIsNoTimeOfTheBlock) {
    Steady script;
    World world(script);
    world.machine_lock = true;
    const auto lock = world.paths().state / "machine.lock";
    ASSERT_EQ(::setenv("KAB_MACHINE_LOCK", lock.c_str(), 1), 0);
    auto other = MachineLock::take("building for somebody else");
    ASSERT_TRUE(other) << other.error().text();
    std::optional<MachineLock> held(std::move(*other));
    world.live();
    auto spec = experiment();
    // The coordinator asks about every 100 ms, in which this world moves on by up to ten seconds.
    spec.limits.block = std::chrono::seconds(40);
    spec.limits.boot = spec.limits.run = std::chrono::seconds(40);
    const auto uid = world.submit(spec);
    const auto from = world.clock().wall();
    while (world.run(1))
        if (held && world.clock().wall() > from + 4 * spec.limits.block) held.reset();
    EXPECT_FALSE(held);
    EXPECT_EQ(::unsetenv("KAB_MACHINE_LOCK"), 0);
    EXPECT_EQ(world.evaluation(uid).status, "done");
    const auto tree = world.store().tree(uid);
    ASSERT_TRUE(tree);
    for (const auto& block : tree->blocks) EXPECT_EQ(block.status, "complete") << block.detail;
}

}  // namespace
}  // namespace kab::sim
