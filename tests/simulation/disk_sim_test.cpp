// A disk that is full, breaks or loses what was written, under the real store of the real coordinator. Every call in
// turn: tests/simulation/slow.
#include "tests/simulation/disk_faults.h"

namespace kab::sim {
namespace {

TEST(FaultyDisk, fails_the_call_it_is_told_to_and_none_before_or_after) {
    test::FaultyDisk disk;
    const auto directory = *TempDir::make("kab-disk-");
    const auto store = store::Store::open(directory.path() / "kab.db", store::Store::Mode::read_write);
    ASSERT_TRUE(store);
    store::HostRow row{"h", "h", "qemu", "up", "{}", 1};
    const auto write = [&] {
        ++row.last_seen_at;
        return (*store)->write([&](store::Writer& writer) { return writer.set_host(row); });
    };
    disk.fail(test::FaultyDisk::Fault::sync_failure, 2, false);
    EXPECT_TRUE(write());
    const auto failed = write();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().fault, Fault::io);
    EXPECT_TRUE(write());
    EXPECT_EQ(disk.failed(), 1);
    EXPECT_EQ(disk.calls(), 3);
    disk.fail(test::FaultyDisk::Fault::no_space, 1, true);
    EXPECT_FALSE(write());
    EXPECT_FALSE(write());
    disk.heal();
    EXPECT_TRUE(write());
}

TEST(DiskSim, a_failing_call_ends_the_daemon_or_not_and_loses_nothing) {
    fail_calls(97);
}

TEST(DiskSim, reads_that_fail_when_the_daemon_starts_end_it_and_lose_nothing) {
    const auto expected = undisturbed();
    test::FaultyDisk disk;
    Steady script;
    World world(script, &disk);
    world.live();
    const auto uid = world.submit(experiment());
    ASSERT_TRUE(world.run(60));
    std::int64_t call = 0;
    for (bool failed = true; failed;) {
        world.die();
        disk.fail(test::FaultyDisk::Fault::read_error, ++call, false);
        const auto begun = world.try_to_live();
        failed = disk.failed() > 0;
        EXPECT_EQ(begun.has_value(), !failed) << "read " << call;
        disk.heal();
    }
    EXPECT_GT(call, 10);
    while (world.run(1000)) {
    }
    EXPECT_EQ(result_of(world, uid), expected);
}

TEST(DiskSim, reads_that_fail_in_a_look_end_the_daemon_and_lose_nothing) {
    const auto expected = undisturbed(short_experiment());
    std::int64_t read = 1;
    for (bool failed = true; failed; ++read) {
        SCOPED_TRACE(fmt::format("read {} of the looks", read));
        test::FaultyDisk disk;
        Steady script;
        World world(script, &disk);
        disk.fail_elsewhere(read);
        std::string uid;
        int starts = 1;
        for (; !live_to_the_end(world, uid) && starts < 3; ++starts) world.die();
        failed = disk.failed_elsewhere();
        EXPECT_EQ(starts, failed ? 2 : 1);
        ASSERT_EQ(result_of(world, uid), expected);
    }
    EXPECT_GT(read, 20);
}

}  // namespace
}  // namespace kab::sim
