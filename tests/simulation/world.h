#pragma once
// The real coordinator, planner, store and analysis over a simulated host, clock and, if wanted, disk.
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <random>

#include "daemon/coordinator/coordinator.h"
#include "daemon/spec/experiment_json.h"
#include "tests/simulation/fakes.h"
#include "tests/support/disk/faulty_disk.h"

namespace kab::sim {

inline Experiment experiment() {
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
    /// `disk`: the faulty one that the database lies on, if it does; then a daemon that gives up is no failure.
    explicit World(Script& script, test::FaultyDisk* disk = nullptr)
        : script_(script), disk_(disk), directory_(in_memory()) {
        paths_.state = directory_.path() / "state";
        paths_.cache = directory_.path() / "cache";
        EXPECT_TRUE(make_directories(paths_.state));
        image_ = directory_.path() / "vmlinux";
        EXPECT_TRUE(write_file(image_, "image"));
    }
    ~World() { die(); }

    void live() {
        const auto begun = try_to_live();
        ASSERT_TRUE(begun) << begun.error().text();
    }

    /// As a daemon starts: it may be told that the disk is full.
    Status try_to_live() {
        fatal_.reset();
        io_ = std::make_unique<boost::asio::io_context>(1);
        auto store = store::Store::open(paths_.database(), store::Store::Mode::read_write);
        if (!store) return pass(store);
        store_ = std::move(*store);
        host_ = std::make_unique<FakeHost>(*io_, script_, [this](const std::string& a) { return locate(a); });
        builder_ = std::make_unique<FakeBuilder>(*io_, image_);
        Coordinator::Parts parts{
            io_->get_executor(), &clock_, paths_,    store_.get(), builder_.get(),
            host_.get(),         agent,   large_wal, machine_lock, [this](const Error& e) { give_up(e); }};
        coordinator_ = std::make_unique<Coordinator>(std::move(parts));
        return coordinator_->start();
    }

    void die() {
        coordinator_.reset();
        host_.reset();
        builder_.reset();
        store_.reset();
        io_.reset();
    }

    std::string submit(const Experiment& spec, const std::string& key = "key") {
        const auto uid = try_to_submit(spec, key);
        EXPECT_TRUE(uid) << uid.error().text();
        return uid.value_or("");
    }

    Result<std::string> try_to_submit(const Experiment& spec, const std::string& key = "key") {
        Submission submission;
        submission.spec_text = "spec";
        submission.experiment = to_json(spec);
        submission.idempotency_key = key;
        return coordinator_->submit(submission);
    }

    /// Handles up to `events` events; fewer if nothing is left to do. False when the work is done.
    bool run(int events) {
        auto guard = boost::asio::make_work_guard(*io_);
        for (int i = 0; i < events; ++i) {
            clock_.advance(std::chrono::milliseconds(1));
            if (fatal_ || coordinator_->idle()) return false;
            if (io_->run_one_for(std::chrono::milliseconds(10)) > 0) {
                waited_ = 0;
            } else if (++waited_ < 2000) {
                clock_.advance(std::chrono::seconds(1));  // what is left to come needs time: a pause, a deadline
                coordinator_->clock_moved();
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
    /// Why the daemon gave up, if it did.
    const std::optional<Error>& fatal() const { return fatal_; }

    std::int64_t large_wal = 64 << 20;
    std::string agent = "agent";  ///< SHA-256 of kab-agent as kabd finds it when it starts
    bool machine_lock = false;    ///< as KAB_MACHINE_LOCK says

  private:
    /// Where a sync costs nothing, if there is such a place.
    static TempDir in_memory() {
        auto made = TempDir::make("kab-sim-", "/dev/shm");
        return made ? std::move(*made) : *TempDir::make("kab-sim-");
    }

    void give_up(const Error& error) {
        EXPECT_NE(disk_, nullptr) << error.text();
        fatal_ = error;
    }

    Place locate(const std::string& attempt) {
        if (const auto known = places_.find(attempt); known != places_.end()) return known->second;
        const test::FaultyDisk::Pause unseen(disk_);
        auto reader = store::Store::open(paths_.database(), store::Store::Mode::read_only);
        EXPECT_TRUE(reader);
        auto table = (*reader)->query(
            "select block.number, arm.name, block.repetition from attempt join boot on boot.id = attempt.boot_id join "
            "block on block.id "
            "= boot.block_id join arm on arm.id = boot.arm_id where attempt.uid = '" +
            attempt + "'");
        EXPECT_TRUE(table) << table.error().text();
        EXPECT_EQ(table->rows.size(), 1U);
        return {std::stoi(*table->rows[0][0]), *table->rows[0][1], std::stoi(*table->rows[0][2])};
    }

    Script& script_;
    test::FaultyDisk* disk_;
    TempDir directory_;
    Paths paths_;
    fs::path image_;
    ManualClock clock_;
    int waited_ = 0;
    std::optional<Error> fatal_;
    std::map<std::string, Place> places_;  ///< of attempts
    std::unique_ptr<boost::asio::io_context> io_;
    std::unique_ptr<store::Store> store_;
    std::unique_ptr<FakeHost> host_;
    std::unique_ptr<FakeBuilder> builder_;
    std::unique_ptr<Coordinator> coordinator_;
};

/// All that must not depend on what went wrong on the way.
inline std::string result_of(World& world, const std::string& uid) {
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

inline std::string undisturbed(const Experiment& spec = experiment()) {
    Steady script;
    World world(script);
    world.live();
    const auto uid = world.submit(spec);
    while (world.run(1000)) {
    }
    return result_of(world, uid);
}

}  // namespace kab::sim
