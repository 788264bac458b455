// The real coordinator, planner, store and analysis over a simulated host. A "kill" drops the whole
// coordinator between two events and starts a new one on the same database.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <random>

#include "tests/simulation/world.h"

namespace kab::sim {
namespace {

TEST(CoordinatorSim, RunsToAVerdictAndStoresExactlyThePlannedSamples) {
    Steady script;
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    while (world.run(1000)) {
    }
    EXPECT_EQ(world.evaluation(uid).status, "done");
    EXPECT_EQ(world.evaluation(uid).verdict, "improved");
    EXPECT_EQ(world.evaluation(uid).plan_hash.size(), 64U);
    const auto samples = world.store().samples(uid);
    ASSERT_TRUE(samples);
    const auto timed = std::count_if(samples->begin(), samples->end(),
                                     [](const auto& s) { return s.metric == "elapsed" && !s.warmup; });
    // 3 iterations x 3 arms (A' is one) x blocks of the look that decided.
    EXPECT_EQ(timed % 9, 0);
    EXPECT_GE(timed, 3 * 9);
}

TEST(CoordinatorSim, TheSameIdempotencyKeyIsTheSameEvaluation) {
    Steady script;
    World world(script);
    world.live();
    const auto first = world.submit(experiment(), "k");
    EXPECT_EQ(world.submit(experiment(), "k"), first);
    EXPECT_NE(world.submit(experiment(), "other"), first);
}

TEST(CoordinatorSim, KillsAtRandomMomentsChangeNothing) {
    const auto expected = undisturbed();
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937_64 engine(seed);
        Steady script;
        World world(script);
        world.live();
        const auto uid = world.submit(experiment());
        while (world.run(static_cast<int>(1 + engine() % 40))) {
            world.die();
            world.live();
        }
        EXPECT_EQ(result_of(world, uid), expected);
    }
}

/// Files below `root`, as the store names them.
std::set<std::string> files_below(const fs::path& root) {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root))
        if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), root).string());
    return files;
}

TEST(CoordinatorSim, EveryConsoleHasItsRowAndWhatHasNoneIsSweptAtTheNextStart) {
    Steady script;
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    world.run(100);
    world.die();
    const auto orphan = world.paths().artifacts() / uid / "01HZZZZZZZZZZZZZZZZZZZZZZZ.console";
    ASSERT_TRUE(write_file(orphan, "of an attempt that nobody knows"));
    world.live();
    EXPECT_FALSE(fs::exists(orphan));
    while (world.run(1000)) {
    }
    const auto known = world.store().artifact_paths();
    ASSERT_TRUE(known);
    EXPECT_GE(known->size(), 9U);
    EXPECT_EQ(*known, files_below(world.paths().artifacts()));
}

TEST(CoordinatorSim, AGrowingWriteAheadLogIsToldWithItsCause) {
    std::ostringstream told;
    auto before = spdlog::default_logger();
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(told)));
    {
        Steady script;
        World world(script);
        world.large_wal = 16 << 20;
        world.live();
        world.submit(experiment());
        while (world.run(1000)) {
        }
        EXPECT_EQ(told.str().find("write-ahead log"), std::string::npos) << told.str();
    }
    {
        Steady script;
        World world(script);
        world.large_wal = 100000;
        world.live();
        world.submit(experiment());
        while (world.run(1000)) {
        }
    }
    spdlog::set_default_logger(before);
    EXPECT_NE(told.str().find("kab.db-wal has"), std::string::npos);
}

TEST(CoordinatorSim, AHostThatDiesIsRetriedAndTheResultIsTheSame) {
    class Dying : public Steady {
        bool host_dies(const Place& place, int attempt) override { return attempt == 1 && place.block % 2 == 0; }
    } script;
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    while (world.run(1000)) {
    }
    EXPECT_EQ(result_of(world, uid), undisturbed());
}

TEST(CoordinatorSim, AKernelThatKeepsCrashingEndsTheEvaluationAndIsNeverRetried) {
    class Crashing : public Steady {
        msg::Outcome outcome(const Place& place) override {
            return place.arm == "patched" ? msg::Outcome::kernel_crash : msg::Outcome::ok;
        }
    } script;
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    while (world.run(1000)) {
    }
    EXPECT_EQ(world.evaluation(uid).status, "done");
    EXPECT_EQ(world.evaluation(uid).verdict, "regressed");
    const auto boots = world.store().boots(uid);
    ASSERT_TRUE(boots);
    for (const auto& boot : *boots)
        if (boot.arm == "patched" && boot.outcome != "cancelled") {
            EXPECT_EQ(boot.outcome, "kernel-crash");
            EXPECT_EQ(boot.attempts, 1);
        }
}

TEST(CoordinatorSim, CancelEndsAndStaysEndedAfterARestart) {
    Steady script;
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    ASSERT_TRUE(world.run(60));
    ASSERT_TRUE(world.coordinator().cancel(uid));
    world.die();
    world.live();
    EXPECT_TRUE(world.coordinator().idle());
    EXPECT_EQ(world.evaluation(uid).status, "cancelled");
}

}  // namespace
}  // namespace kab::sim
