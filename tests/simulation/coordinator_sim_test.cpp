// The real coordinator, planner, store and analysis over a simulated host. A "kill" drops the whole
// coordinator between two events and starts a new one on the same database.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <boost/asio/executor_work_guard.hpp>
#include <cmath>
#include <random>

#include "daemon/coordinator/coordinator.h"
#include "daemon/spec/experiment_json.h"
#include "tests/simulation/fakes.h"

namespace kab::sim {
namespace {

Experiment experiment() {
    Experiment spec;
    spec.name = "sim";
    spec.question = "?";
    for (const char* name : {"base", "patched"}) {
        Arm arm;
        arm.name = name;
        arm.kernel.source.kind = Source::Kind::image;
        arm.kernel.source.location = std::string("/images/") + name;
        if (arm.name != "base") arm.against = "base";
        spec.arms.push_back(arm);
    }
    WorkloadSpec workload;
    workload.workload = "ipcns-exit";
    workload.with = {{"children", 10}, {"concurrency", 0}};
    workload.iterations = 3;
    workload.counters = {"task-clock"};
    spec.workloads = {workload};
    spec.decide.primary = "ipcns-exit/elapsed";
    spec.decide.looks = {3, 6};
    spec.decide.seed = 42;
    return spec;
}

/// Noise from the place in the plan alone, so that every way through gives the same data.
class Steady : public Script {
  public:
    double value(const Place& place, const msg::RunOrder& run, const std::string& metric) override {
        const auto text = fmt::format("{}/{}/{}/{}", place.block, place.arm, run.seq, metric);
        std::mt19937_64 engine(std::hash<std::string>{}(text));
        const double noise = 1 + 0.01 * (static_cast<double>(engine() % 1000) / 1000 - 0.5);
        return 1e9 * noise * (place.arm == "patched" ? 0.7 : 1.0);
    }
};

class World {
  public:
    explicit World(Script& script) : script_(script), directory_(*TempDir::make("kab-sim-")) {
        paths_.state = directory_.path() / "state";
        paths_.cache = directory_.path() / "cache";
        EXPECT_TRUE(make_directories(paths_.state));
        image_ = directory_.path() / "vmlinux";
        EXPECT_TRUE(write_file(image_, "image"));
    }
    ~World() { die(); }

    void live() {
        io_ = std::make_unique<boost::asio::io_context>(1);
        auto store = store::Store::open(paths_.database(), store::Store::Mode::read_write);
        ASSERT_TRUE(store) << store.error().text();
        store_ = std::move(*store);
        host_ = std::make_unique<FakeHost>(*io_, script_, [this](const std::string& a) { return locate(a); });
        builder_ = std::make_unique<FakeBuilder>(*io_, image_);
        Coordinator::Parts parts{
            io_->get_executor(), &clock_, paths_,    store_.get(), builder_.get(),
            host_.get(),         "agent", large_wal, false,        [](const Error& e) { FAIL() << e.text(); }};
        coordinator_ = std::make_unique<Coordinator>(std::move(parts));
        ASSERT_TRUE(coordinator_->start());
    }

    void die() {
        coordinator_.reset();
        host_.reset();
        builder_.reset();
        store_.reset();
        io_.reset();
    }

    std::string submit(const Experiment& spec, const std::string& key = "key") {
        Submission submission;
        submission.spec_text = "spec";
        submission.experiment = to_json(spec);
        submission.idempotency_key = key;
        auto uid = coordinator_->submit(submission);
        EXPECT_TRUE(uid) << uid.error().text();
        return uid.value_or("");
    }

    /// Handles up to `events` events; fewer if nothing is left to do. False when the work is done.
    bool run(int events) {
        auto guard = boost::asio::make_work_guard(*io_);
        for (int i = 0; i < events; ++i) {
            clock_.advance(std::chrono::milliseconds(1));
            if (coordinator_->idle()) return false;
            if (io_->run_one_for(std::chrono::milliseconds(50)) > 0) {
                waited_ = 0;
            } else if (++waited_ < 400) {
                clock_.advance(std::chrono::seconds(1));  // what is left to come needs time: a pause, a deadline
            } else {
                ADD_FAILURE() << "nothing happens any more";
                return false;
            }
        }
        return true;
    }

    store::EvaluationRow evaluation(const std::string& uid) { return *store_->find_evaluation(uid); }
    store::Store& store() { return *store_; }
    Coordinator& coordinator() { return *coordinator_; }
    FakeHost& host() { return *host_; }
    ManualClock& clock() { return clock_; }
    const Paths& paths() const { return paths_; }

    std::int64_t large_wal = 64 << 20;

  private:
    Place locate(const std::string& attempt) {
        auto reader = store::Store::open(paths_.database(), store::Store::Mode::read_only);
        EXPECT_TRUE(reader);
        auto table = (*reader)->query(
            "select block.number, arm.name from attempt join boot on boot.id = attempt.boot_id join block on block.id "
            "= boot.block_id join arm on arm.id = boot.arm_id where attempt.uid = '" +
            attempt + "'");
        EXPECT_TRUE(table) << table.error().text();
        EXPECT_EQ(table->rows.size(), 1U);
        return {std::stoi(*table->rows[0][0]), *table->rows[0][1]};
    }

    Script& script_;
    TempDir directory_;
    Paths paths_;
    fs::path image_;
    ManualClock clock_;
    int waited_ = 0;
    std::unique_ptr<boost::asio::io_context> io_;
    std::unique_ptr<store::Store> store_;
    std::unique_ptr<FakeHost> host_;
    std::unique_ptr<FakeBuilder> builder_;
    std::unique_ptr<Coordinator> coordinator_;
};

/// All that must not depend on what went wrong on the way.
std::string result_of(World& world, const std::string& uid) {
    const auto row = world.evaluation(uid);
    std::string text = row.status + " " + row.verdict + " " + row.plan_hash + "\n";
    const auto samples = world.store().samples(uid);
    EXPECT_TRUE(samples);
    for (const auto& s : *samples)
        text +=
            fmt::format("{} {} {} {} {} {}\n", s.block, s.arm, s.metric, s.iteration, s.warmup, s.value.value_or(-1));
    const auto comparisons = world.store().comparisons(uid);
    EXPECT_TRUE(comparisons);
    for (const auto& c : *comparisons)
        text += fmt::format("{} {} {} {} {} {}\n", c.look, c.arm, c.metric, c.estimate.value_or(-1), c.n, c.verdict);
    return text;
}

std::string undisturbed() {
    Steady script;
    World world(script);
    world.live();
    const auto uid = world.submit(experiment());
    while (world.run(1000)) {
    }
    return result_of(world, uid);
}

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
