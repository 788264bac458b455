// A host that is noisy at known places: its blocks are booted again, and neither noise nor kills change the result.
#include <gtest/gtest.h>

#include <random>

#include "tests/simulation/world.h"

namespace kab::sim {
namespace {

/// In the first try at block 2 the last run of one arm meets steal.
class Noisy : public Steady {
  public:
    std::vector<msg::Sample> conditions(const Place& place, const msg::RunOrder& run) override {
        const bool noisy = place.block == 2 && place.repetition == 1 && place.arm == "patched" && run.seq == 5;
        return {{"steal", noisy ? 0.3 : 0.01, {}, {}, {}},
                {"throttled", std::nullopt, "the host does not tell", {}, {}}};
    }
};

Experiment excluding() {
    auto spec = experiment();
    spec.exclude.steal = 0.02;
    spec.exclude.throttled = true;
    return spec;
}

/// "1.1 complete|2.1 excluded steal|..."
std::string blocks_of(World& world, const std::string& uid) {
    const auto tree = world.store().tree(uid);
    EXPECT_TRUE(tree);
    std::string text;
    for (const auto& block : tree->blocks)
        text += fmt::format("{}.{} {} {}|", block.number, block.repetition, block.status, block.cause);
    return text;
}

/// What counts, without the plan's hash: that of a spec without exclusions is another.
std::string samples_of(World& world, const std::string& uid) {
    const auto samples = world.store().samples(uid);
    EXPECT_TRUE(samples);
    std::string text = world.evaluation(uid).verdict + "\n";
    for (const auto& s : *samples)
        text += fmt::format("{} {} {} {} {}\n", s.block, s.arm, s.metric, s.iteration, s.value.value_or(-1));
    return text;
}

TEST(ExclusionSim, ANoisyBlockIsBootedAgainAndTheResultIsThatOfAQuietMachineWhateverIsKilled) {
    Steady quiet;
    World undisturbed(quiet);
    undisturbed.live();
    const auto reference = undisturbed.submit(excluding());
    while (undisturbed.run(1000)) {
    }
    const auto expected = samples_of(undisturbed, reference);
    EXPECT_EQ(blocks_of(undisturbed, reference), "1.1 complete |2.1 complete |3.1 complete |");

    for (std::uint64_t seed = 0; seed <= 4; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937_64 engine(seed);
        Noisy script;
        World world(script);
        world.live();
        const auto uid = world.submit(excluding());
        while (world.run(seed == 0 ? 1000 : static_cast<int>(1 + engine() % 40))) {
            if (seed == 0) continue;  // without any kill
            world.die();
            world.live();
        }
        EXPECT_EQ(blocks_of(world, uid), "1.1 complete |2.1 excluded steal|2.2 complete |3.1 complete |");
        EXPECT_EQ(samples_of(world, uid), expected);
    }
}

TEST(ExclusionSim, WithoutADeclarationNoiseIsOnlyStored) {
    Noisy script;
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    while (world.run(1000)) {
    }
    EXPECT_EQ(blocks_of(world, uid), "1.1 complete |2.1 complete |3.1 complete |");
    const auto conditions = world.store().conditions(uid);
    ASSERT_TRUE(conditions);
    EXPECT_EQ(std::count_if(conditions->begin(), conditions->end(), [](const auto& c) { return c.value == 0.3; }), 1);
}

}  // namespace
}  // namespace kab::sim
