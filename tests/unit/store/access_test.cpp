// Who may open the file, at the same time as whom, and what happens when the disk is full.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/store/database.h"
#include "daemon/store/store.h"
#include "tests/support/database/sample_database.h"

namespace kab::store {
namespace {

using test::SampleDatabase;

constexpr uid_t nobody = 65534;

/// Runs `body` in a child that may read but not write the sample's directory; its text comes back. SQLite connections
/// must not cross a fork, so the body opens its own and the parent's are used by nobody meanwhile.
std::string as_reader(const std::function<std::string()>& body) {
    int ends[2];
    if (::pipe(ends) != 0) return "pipe failed";
    const pid_t child = ::fork();
    if (child < 0) return "fork failed";
    if (child == 0) {
        ::close(ends[0]);
        std::string text = "setuid failed";
        if (::geteuid() != 0 || (::setgid(nobody) == 0 && ::setuid(nobody) == 0)) text = body();
        (void)!::write(ends[1], text.data(), text.size());
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return text;
}

std::string count_boots(const fs::path& file) {
    auto store = Store::open(file, Store::Mode::read_only);
    if (!store) return store.error().text();
    const auto table = (*store)->query("SELECT count(*) FROM v_boot");
    return table ? *table->rows[0][0] : table.error().text();
}

class ReadOnly : public testing::Test {
  protected:
    ReadOnly() { ::chmod(sample_.directory.path().c_str(), 0555); }
    ~ReadOnly() override { ::chmod(sample_.directory.path().c_str(), 0755); }
    SampleDatabase sample_;
    std::string expected_ = "28";
};

TEST_F(ReadOnly, WithoutWritePermissionWhileTheWriterRuns) {
    EXPECT_EQ(as_reader([&] { return count_boots(sample_.file()); }), expected_);
}

TEST_F(ReadOnly, WithoutWritePermissionAfterTheWriterIsGone) {
    ASSERT_TRUE(sample_.store->checkpoint());
    sample_.store.reset();
    EXPECT_TRUE(fs::exists(sample_.file().string() + "-wal"));
    EXPECT_TRUE(fs::exists(sample_.file().string() + "-shm"));
    EXPECT_EQ(as_reader([&] { return count_boots(sample_.file()); }), expected_);
}

TEST_F(ReadOnly, WithoutWritePermissionAfterAWriterThatWasKilled) {
    // A copy of the three files in the middle of things is what a killed writer leaves.
    const auto copy = TempDir::make("kab-killed-");
    ASSERT_TRUE(copy);
    for (const char* suffix : {"", "-wal", "-shm"})
        fs::copy_file(sample_.file().string() + suffix, (copy->path() / "kab.db").string() + suffix);
    ASSERT_GT(fs::file_size(copy->path() / "kab.db-wal"), 0U);
    ::chmod(copy->path().c_str(), 0555);
    EXPECT_EQ(as_reader([&] { return count_boots(copy->path() / "kab.db"); }), expected_);
    ::chmod(copy->path().c_str(), 0755);
}

TEST_F(ReadOnly, AReaderOfTheOwnersLeavesTheLogFilesInPlace) {
    sample_.store.reset();
    ::chmod(sample_.directory.path().c_str(), 0755);
    EXPECT_EQ(count_boots(sample_.file()), expected_);
    EXPECT_TRUE(fs::exists(sample_.file().string() + "-wal"));
    EXPECT_TRUE(fs::exists(sample_.file().string() + "-shm"));
}

TEST_F(ReadOnly, WithoutTheLogFilesTheErrorSaysWhatToDo) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
    sample_.store.reset();
    ::chmod(sample_.directory.path().c_str(), 0755);
    fs::remove(sample_.file().string() + "-wal");
    fs::remove(sample_.file().string() + "-shm");
    ::chmod(sample_.directory.path().c_str(), 0555);
    const auto text = as_reader([&] { return count_boots(sample_.file()); });
    EXPECT_NE(text.find("any kab command of the owner makes them"), std::string::npos) << text;
}

TEST(Access, AWriterWithoutAWriteAheadLogIsRefused) {
    // As on a file system without shared memory: SQLite calls it success and goes on in the mode that it can have.
    sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
    ASSERT_EQ(sqlite3_vfs_register(sqlite3_vfs_find("unix-none"), 1), SQLITE_OK);
    const auto directory = TempDir::make("kab-no-wal-");
    ASSERT_TRUE(directory);
    const auto file = directory->path() / "kab.db";
    const auto opened = Database::open(file, Database::Access::read_write);
    ASSERT_EQ(sqlite3_vfs_register(usual, 1), SQLITE_OK);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().fault, Fault::io);
    EXPECT_EQ(opened.error().text(), file.string() +
                                         ": no write-ahead log is possible here (journal_mode is delete): use "
                                         "a local file system");
}

TEST(OpenStore, WithoutAFileIsNotFound) {
    const auto store = Store::open("/nonexistent/kab.db", Store::Mode::read_only);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().fault, Fault::not_found);
}

TEST(OpenStore, InAFolderThatCannotBeMadeIsAnIoError) {
    const auto store = Store::open("/proc/nowhere/kab.db", Store::Mode::read_write);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().fault, Fault::io) << store.error().text();
}

TEST(Concurrency, AReaderSeesTheLastCommitWhileAWriteIsOpen) {
    SampleDatabase sample;
    const auto uid = test::sample_evaluation();
    auto reader = Store::open(sample.file(), Store::Mode::read_only);
    ASSERT_TRUE(reader);
    const auto written = sample.store->write([&](Writer& writer) -> Status {
        if (auto set = writer.set_verdict(uid, "regressed"); !set) return set;
        EXPECT_EQ((*reader)->find_evaluation(uid)->verdict, "improved");
        return {};
    });
    ASSERT_TRUE(written);
    EXPECT_EQ((*reader)->find_evaluation(uid)->verdict, "regressed");
}

TEST(Concurrency, ASecondWriterIsToldWhoIsInTheWay) {
    SampleDatabase sample;
    auto other = Database::open(sample.file(), Database::Access::read_write);
    ASSERT_TRUE(other);
    ASSERT_TRUE((*other)->execute("shorten the wait", "PRAGMA busy_timeout = 1"));
    const auto written = sample.store->write([&](Writer&) -> Status {
        const auto begun = (*other)->execute("begin", "BEGIN IMMEDIATE");
        EXPECT_FALSE(begun);
        EXPECT_EQ(begun.error().fault, Fault::timeout) << begun.error().text();
        EXPECT_NE(begun.error().text().find("another program holds it"), std::string::npos);
        return {};
    });
    EXPECT_TRUE(written);
}

TEST(Wal, IsFoldedIntoTheFileByACheckpoint) {
    SampleDatabase sample;
    EXPECT_GT(sample.store->wal_bytes(), 0);
    ASSERT_TRUE(sample.store->checkpoint());
    EXPECT_EQ(sample.store->wal_bytes(), 0);
}

/// One more run with its samples, in a transaction of its own.
Status add_run(Store& store, const std::string& attempt, std::int64_t seq) {
    return store.write([&](Writer& writer) {
        NewRun run;
        run.seq = seq;
        run.workload = "ipcns-exit";
        run.samples = {{"elapsed", 1.0, "", {}, {}}, {"backlog", {}, std::string(3000, 'x'), {}, {}}};
        return writer.add_run(attempt, run);
    });
}

/// Fills `directory` until a write fails; all that was acknowledged must be there afterwards.
void expect_full_disk_is_survived(const fs::path& directory, const std::function<void()>& make_room) {
    const auto file = directory / "kab.db";
    auto store = Store::open(file, Store::Mode::read_write);
    ASSERT_TRUE(store) << store.error().text();
    test::SampleOptions options;
    options.blocks = 1;
    options.status = "running";
    test::fill(**store, options);
    const std::string attempt = "01KDXFZZZZ0000000000000001";
    const auto tree = (*store)->tree(test::sample_evaluation());
    ASSERT_TRUE(tree);
    ASSERT_TRUE((*store)->write(
        [&](Writer& writer) { return writer.add_attempt(tree->boots.back().uid, attempt, 1, "local", 1); }));

    std::int64_t stored = 0;
    Status failed;
    while (failed && stored < 100000) {
        failed = add_run(**store, attempt, stored + 1);
        if (failed) ++stored;
    }
    ASSERT_FALSE(failed) << "the disk never became full";
    EXPECT_EQ(failed.error().fault, Fault::io) << failed.error().text();
    EXPECT_NE(failed.error().text().find("kab.db"), std::string::npos) << failed.error().text();

    make_room();
    EXPECT_TRUE(add_run(**store, attempt, stored + 1));
    store->reset();
    auto again = Store::open(file, Store::Mode::read_only);
    ASSERT_TRUE(again) << again.error().text();
    const auto table = (*again)->query(
        "SELECT count(*), max(seq) FROM run JOIN attempt ON attempt.id = attempt_id WHERE "
        "attempt.uid = '" +
        attempt + "'");
    ASSERT_TRUE(table) << table.error().text();
    EXPECT_EQ(*table->rows[0][0], std::to_string(stored + 1));
    EXPECT_EQ(*table->rows[0][1], std::to_string(stored + 1));
}

TEST(FullDisk, IsAnIoErrorThatLosesNothing) {
    const auto directory = TempDir::make("kab-full-");
    ASSERT_TRUE(directory);
    if (::mount("kab-test", directory->path().c_str(), "tmpfs", 0, "size=3m") != 0)
        GTEST_SKIP() << "cannot mount a small tmpfs here (errno " << errno << ")";
    const auto ballast = directory->path() / "ballast";
    ASSERT_TRUE(write_file(ballast, std::string(1 << 20, 'b')));
    expect_full_disk_is_survived(directory->path(), [&] { fs::remove(ballast); });
    EXPECT_EQ(::umount(directory->path().c_str()), 0);
}

TEST(FullDisk, AFullDatabaseIsNamed) {
    const auto directory = TempDir::make("kab-full-");
    ASSERT_TRUE(directory);
    auto database = Database::open(directory->path() / "kab.db", Database::Access::read_write);
    ASSERT_TRUE(database);
    ASSERT_TRUE((*database)->execute("limit", "PRAGMA max_page_count = 4; CREATE TABLE t (x TEXT)"));
    const auto failed = (*database)->execute("add something large", "INSERT INTO t VALUES (hex(zeroblob(100000)))");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().fault, Fault::io);
    EXPECT_EQ(failed.error().text(),
              (directory->path() / "kab.db").string() +
                  ": cannot add something large: database or disk is full; free some space and start again, nothing "
                  "stored so far is lost");
}

}  // namespace
}  // namespace kab::store
