// The check block in the real coordinator: what fails in it is never timed, and a kill in it changes nothing.
#include <random>

#include "tests/simulation/world.h"

namespace kab::sim {
namespace {

Experiment checked() {
    auto spec = experiment();
    for (auto& arm : spec.arms) {
        arm.kernel.source.kind = Source::Kind::tarball;  // an image has no debug variant
        arm.kernel.source.location = "/src/" + arm.name + ".tar";
    }
    spec.checks = {{"ipcns-check", {{"namespaces", 5}, {"rounds", 5}}, false}};
    spec.debug.config = {"/debug.config"};
    return spec;
}

/// The kernel under one name does not pass the checks.
class Wrong : public Steady {
  public:
    Wrong(std::string arm, msg::Outcome how) : arm_(std::move(arm)), how_(how) {}
    msg::Outcome outcome(const Place& place) override { return wrong(place) ? how_ : msg::Outcome::ok; }
    std::string complaint(const Place& place) override {
        return wrong(place) && how_ == msg::Outcome::ok ? "WARNING: possible circular locking dependency" : "";
    }

  private:
    bool wrong(const Place& place) const { return place.block == check_block && place.arm == arm_; }
    std::string arm_;
    msg::Outcome how_;
};

std::string ask(World& world, const std::string& sql) {
    auto reader = store::Store::open(world.paths().database(), store::Store::Mode::read_only);
    EXPECT_TRUE(reader);
    const auto table = (*reader)->query(sql);
    EXPECT_TRUE(table) << table.error().text();
    std::string text;
    for (const auto& row : table->rows)
        for (const auto& cell : row) text += cell.value_or("null") + " ";
    return text;
}

std::string run_to_the_end(World& world, const Experiment& spec) {
    world.live();
    const auto uid = world.submit(spec);
    while (world.run(1000)) {
    }
    return uid;
}

TEST(ChecksSim, EveryKernelIsCheckedOnceAndNothingOfItCounts) {
    Steady script;
    World world(script);
    const auto uid = run_to_the_end(world, checked());
    EXPECT_EQ(world.evaluation(uid).verdict, "improved");
    EXPECT_EQ(ask(world, "select arm, outcome from v_boot where block = 0 order by position"),
              "base ok patched ok base'debug ok patched'debug ok ");
    EXPECT_EQ(ask(world, "select count(*) from v_boot where role = 'debug' and block > 0"), "0 ");
    EXPECT_EQ(ask(world, "select count(*) from run where kind = 'check'"), "4 ");
    EXPECT_EQ(ask(world, "select count(*) from v_sample where block = 0"), "0 ");
}

TEST(ChecksSim, AnArmWhoseDebugVariantIsComplainedOfIsWrongHoweverFastItIs) {
    Wrong script("patched'debug", msg::Outcome::ok);
    World world(script);
    const auto uid = run_to_the_end(world, checked());
    EXPECT_EQ(world.evaluation(uid).status, "done");
    EXPECT_EQ(world.evaluation(uid).verdict, "regressed");
    EXPECT_EQ(ask(world, "select count(*) from v_sample"), "0 ");
    EXPECT_EQ(ask(world, "select status from arm order by position"), "ready stopped ready ready stopped ");
    EXPECT_EQ(ask(world, "select detail from arm where name = 'patched'"),
              "failed its checks (ipcns-check) on its debug variant: workload-error: the kernel complained: WARNING: "
              "possible circular locking dependency ");
}

TEST(ChecksSim, AWrongBaselineLeavesNothingToCompare) {
    Wrong script("base", msg::Outcome::kernel_crash);
    World world(script);
    const auto uid = run_to_the_end(world, checked());
    EXPECT_EQ(world.evaluation(uid).status, "failed");
    EXPECT_EQ(world.evaluation(uid).detail, "nothing is left to compare; stopped or failed: base failed its checks");
    EXPECT_EQ(ask(world, "select count(*) from block where number > 0"), "0 ");
}

TEST(ChecksSim, KillsAtRandomMomentsChangeNothing) {
    for (const char* wrong : {"", "patched", "patched'debug"}) {
        Wrong script(wrong, msg::Outcome::hang);
        std::string expected, boots;
        const auto checks = "select arm, outcome from v_boot where block = 0 order by position";
        for (std::uint64_t seed = 0; seed <= 12; ++seed) {
            SCOPED_TRACE(fmt::format("'{}', seed {}", wrong, seed));
            std::mt19937_64 engine(seed);
            World world(script);
            world.live();
            const auto uid = world.submit(checked());
            while (world.run(seed == 0 ? 1000 : static_cast<int>(1 + engine() % 20))) {
                if (seed == 0) continue;  // the undisturbed run
                world.die();
                world.live();
            }
            if (seed == 0) {
                expected = result_of(world, uid);
                boots = ask(world, checks);
            }
            EXPECT_EQ(result_of(world, uid), expected);
            EXPECT_EQ(ask(world, checks), boots);
        }
    }
}

}  // namespace
}  // namespace kab::sim
