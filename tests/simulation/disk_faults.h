#pragma once
// One simulated evaluation on a disk that fails at a given call.
#include <sqlite3.h>

#include <cstdlib>

#include "tests/simulation/world.h"

namespace kab::sim {

struct DiskTrouble {
    test::FaultyDisk::Fault fault = test::FaultyDisk::Fault::no_space;
    std::int64_t call = 0;  ///< the number of the call that fails; 0: none
    bool lasting = false;   ///< all after it fail, too, and the daemon is started once more before space returns
};

/// "short write:17", or "short write:17+" if all calls after it fail, too.
inline std::string name_of(const DiskTrouble& trouble) {
    return fmt::format("{}:{}{}", test::FaultyDisk::name_of(trouble.fault), trouble.call, trouble.lasting ? "+" : "");
}

/// With KAB_SIM_DISK only what it names: a fault ("short write"), or a fault at one call, as name_of() has it.
inline bool chosen(const DiskTrouble& trouble) {
    const char* text = std::getenv("KAB_SIM_DISK");
    return text == nullptr || text == name_of(trouble) || text == std::string(test::FaultyDisk::name_of(trouble.fault));
}

/// The first column of every row of a check; "" when it says nothing.
inline std::string check(sqlite3* database, const char* sql) {
    std::string said;
    const auto add = [](void* text, int, char** values, char**) {
        *static_cast<std::string*>(text) += std::string(values[0] == nullptr ? "?" : values[0]) + "\n";
        return 0;
    };
    char* error = nullptr;
    if (sqlite3_exec(database, sql, add, &said, &error) != SQLITE_OK) said += error == nullptr ? "?" : error;
    sqlite3_free(error);
    return said;
}

/// Looks at a copy, so that the daemon finds the file and its log as they were left.
inline void expect_sound(const fs::path& database, test::FaultyDisk* disk) {
    const test::FaultyDisk::Pause unseen(disk);
    const auto copy = *TempDir::make("kab-sound-");
    const auto file = copy.path() / "kab.db";
    for (const char* end : {"", "-wal"}) {
        std::error_code error;
        if (fs::exists(database.string() + end, error)) fs::copy_file(database.string() + end, file.string() + end);
    }
    if (!fs::exists(file)) return;  // the disk failed before there was anything
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(check(handle, "PRAGMA integrity_check"), "ok\n");
    EXPECT_EQ(check(handle, "PRAGMA foreign_key_check"), "");
    EXPECT_EQ(sqlite3_close(handle), SQLITE_OK);
}

/// Every kind of transaction, few of each: what is repeated tells nothing new.
inline Experiment short_experiment() {
    auto spec = experiment();
    spec.workloads[0].iterations = 1;
    spec.workloads[0].warmup = 0;
    spec.decide.looks = {2, 3};
    return spec;
}

/// Starts, submits what is not yet submitted, and goes on to the end. False if the daemon ended before.
inline bool live_to_the_end(World& world, std::string& uid) {
    if (!world.try_to_live()) return false;
    if (uid.empty()) {
        auto submitted = world.try_to_submit(short_experiment());
        if (!submitted) return false;
        uid = *submitted;
    }
    while (world.run(1000)) {
    }
    return !world.fatal();
}

struct DiskResult {
    std::int64_t calls = 0;  ///< that could have failed
    int starts = 0;          ///< of the daemon
};

/// Expects that the daemon stops or goes on, that the database stays sound, and that the result is `expected`.
inline DiskResult evaluate_in(const DiskTrouble& trouble, const std::string& expected) {
    SCOPED_TRACE(fmt::format("to repeat it: KAB_SIM_DISK='{}'", name_of(trouble)));
    test::FaultyDisk disk;
    Steady script;
    World world(script, &disk);
    disk.fail(trouble.fault, trouble.call, trouble.lasting);
    std::string uid;
    DiskResult result;
    for (bool ended = false; !ended && result.starts < 4;) {
        ++result.starts;
        ended = live_to_the_end(world, uid);
        if (ended) break;
        EXPECT_GT(disk.failed(), 0) << "the daemon ended though nothing failed";
        world.die();
        expect_sound(world.paths().database(), &disk);
        if (result.starts == 2) disk.heal();
    }
    result.calls = disk.calls();
    disk.heal();
    EXPECT_LT(result.starts, 4) << "the daemon does not recover";
    if (result.starts < 4 && !uid.empty()) {
        EXPECT_EQ(result_of(world, uid), expected);
    }
    world.die();
    expect_sound(world.paths().database(), &disk);
    return result;
}

/// Lets every `step`th call fail (with KAB_SIM_DISK every one that it names), once and for good, with each fault. What
/// was done is printed.
inline void fail_calls(std::int64_t step) {
    if (std::getenv("KAB_SIM_DISK") != nullptr) step = 1;
    const auto expected = undisturbed(short_experiment());
    int all = 0;
    for (const auto fault : test::FaultyDisk::faults) {
        const auto calls = evaluate_in({fault, 0, false}, expected).calls;
        ASSERT_GT(calls, 0) << test::FaultyDisk::name_of(fault);
        int evaluations = 0, ended = 0;
        for (const bool lasting : {false, true})
            for (std::int64_t call = 1 + (lasting ? step / 2 : 0); call <= calls; call += step) {
                if (!chosen({fault, call, lasting})) continue;
                ++evaluations;
                ended += evaluate_in({fault, call, lasting}, expected).starts > 1 ? 1 : 0;
                if (testing::Test::HasFailure()) return;
            }
        fmt::print("{}: {} calls, {} evaluations, in {} of them the daemon ended and was started again\n",
                   test::FaultyDisk::name_of(fault), calls, evaluations, ended);
        all += evaluations;
    }
    EXPECT_GT(all, 0) << "KAB_SIM_DISK names no call of any fault";
}

}  // namespace kab::sim
