#include "daemon/store/migrations.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/store/store.h"
#include "tests/support/database/sample_database.h"

namespace kab::store {
namespace {

constexpr const char* first_sql =
    "CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, "
    "applied_at INTEGER NOT NULL) STRICT;"
    "CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT;"
    "CREATE TABLE thing (id INTEGER PRIMARY KEY, parent_id INTEGER NOT NULL REFERENCES parent (id)) STRICT;";
constexpr const char* second_sql = "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 7;";

class Migrations : public testing::Test {
  protected:
    std::unique_ptr<Database> open() {
        auto database = Database::open(file(), Database::Access::read_write);
        EXPECT_TRUE(database) << database.error().text();
        return std::move(*database);
    }
    fs::path file() const { return directory_.path() / "kab.db"; }
    fs::path backup(int number) const { return file().string() + ".before-" + std::to_string(number); }
    static std::int64_t number(Database& database, const char* sql) {
        const auto value = database.integer("look", sql);
        EXPECT_TRUE(value) << value.error().text();
        return value.value_or(-1);
    }
    /// Version 1 with one row.
    void make_first(Database& database) {
        ASSERT_TRUE(migrate(database, {&first_, 1}, 100));
        ASSERT_TRUE(database.execute("fill", "INSERT INTO parent VALUES (1); INSERT INTO thing VALUES (5, 1)"));
    }

    Migration first_{1, "first", first_sql};
    TempDir directory_ = std::move(*TempDir::make("kab-migrations-"));
};

TEST_F(Migrations, AFreshFileGetsThemAllAndNoBackup) {
    const Migration list[] = {first_, {2, "second", second_sql}};
    auto database = open();
    ASSERT_TRUE(migrate(*database, list, 42));
    EXPECT_EQ(number(*database, "PRAGMA user_version"), 2);
    EXPECT_EQ(number(*database, "SELECT count(*) FROM migration WHERE applied_at = 42"), 2);
    EXPECT_FALSE(fs::exists(backup(1)));
    EXPECT_FALSE(fs::exists(backup(2)));
}

TEST_F(Migrations, AnOlderFileIsBackedUpThenMigrated) {
    const Migration list[] = {first_, {2, "second", second_sql}};
    auto database = open();
    make_first(*database);
    ASSERT_TRUE(migrate(*database, list, 200));
    EXPECT_EQ(number(*database, "SELECT size FROM thing WHERE id = 5"), 7);
    EXPECT_EQ(number(*database, "PRAGMA foreign_keys"), 1);

    auto copy = Database::open(backup(2), Database::Access::read_only);
    ASSERT_TRUE(copy) << copy.error().text();
    EXPECT_EQ(number(**copy, "PRAGMA user_version"), 1);
    EXPECT_EQ(number(**copy, "SELECT count(*) FROM thing"), 1);
}

TEST_F(Migrations, AFailingMigrationChangesNothing) {
    const Migration list[] = {
        first_, {2, "second", second_sql}, {3, "third", "CREATE TABLE extra (id INTEGER) STRICT; SELECT nonsense;"}};
    auto database = open();
    make_first(*database);
    const auto migrated = migrate(*database, list, 200);
    ASSERT_FALSE(migrated);
    EXPECT_NE(migrated.error().text().find("migration 3 (third)"), std::string::npos) << migrated.error().text();
    EXPECT_NE(migrated.error().text().find("nonsense"), std::string::npos) << migrated.error().text();
    // The second is a transaction of its own and stays; of the third nothing does.
    EXPECT_EQ(number(*database, "PRAGMA user_version"), 2);
    EXPECT_EQ(number(*database, "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'"), 0);
    EXPECT_TRUE(migrate(*database, {list, 2}, 300));
}

TEST_F(Migrations, AnEmptyDatabaseGetsAllOfThemOrNone) {
    const Migration list[] = {first_, {2, "second", "CREATE TABLE extra (id INTEGER) STRICT; SELECT nonsense;"}};
    auto database = open();
    ASSERT_FALSE(migrate(*database, list, 200));
    EXPECT_EQ(number(*database, "PRAGMA user_version"), 0);
    EXPECT_EQ(number(*database, "SELECT count(*) FROM sqlite_schema"), 0);
    // For a reader that comes at this moment there is none yet, not one of an old version.
    const auto read = Store::open(file(), Store::Mode::read_only);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().fault, Fault::not_found);
    EXPECT_NE(read.error().text().find("there is no database yet"), std::string::npos) << read.error().text();
}

TEST_F(Migrations, OneThatBreaksForeignKeysIsRolledBack) {
    const Migration list[] = {first_, {2, "orphan", "INSERT INTO thing VALUES (6, 99);"}};
    auto database = open();
    make_first(*database);
    const auto migrated = migrate(*database, list, 200);
    ASSERT_FALSE(migrated);
    EXPECT_NE(migrated.error().text().find("foreign keys"), std::string::npos) << migrated.error().text();
    EXPECT_EQ(number(*database, "SELECT count(*) FROM thing"), 1);
    EXPECT_EQ(number(*database, "PRAGMA user_version"), 1);
}

TEST_F(Migrations, ANewerFileIsRefusedAndLeftAlone) {
    {
        auto opened = Store::open(file(), Store::Mode::read_write);
        ASSERT_TRUE(opened) << opened.error().text();
    }
    auto database = open();
    ASSERT_TRUE(database->execute("age", "PRAGMA user_version = 99"));
    database.reset();
    for (const auto mode : {Store::Mode::read_write, Store::Mode::read_only}) {
        const auto opened = Store::open(file(), mode);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().fault, Fault::conflict);
        EXPECT_NE(opened.error().text().find("version 99"), std::string::npos) << opened.error().text();
        EXPECT_NE(opened.error().text().find("kab.db"), std::string::npos);
    }
    EXPECT_EQ(number(*open(), "PRAGMA user_version"), 99);
}

TEST_F(Migrations, OtherTextsOfTheSameNumberAreRefused) {
    auto database = open();
    make_first(*database);
    const Migration other{1, "first", "CREATE TABLE other (id INTEGER) STRICT;"};
    const auto migrated = migrate(*database, {&other, 1}, 200);
    ASSERT_FALSE(migrated);
    EXPECT_NE(migrated.error().text().find("another build"), std::string::npos) << migrated.error().text();
}

TEST_F(Migrations, SomebodyElsesDatabaseIsNotTouched) {
    auto database = open();
    ASSERT_TRUE(database->execute("fill", "CREATE TABLE bookmarks (url TEXT)"));
    database.reset();
    const auto opened = Store::open(file(), Store::Mode::read_write);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().text().find("not one of kab's"), std::string::npos) << opened.error().text();
}

TEST_F(Migrations, AFileThatIsNoDatabaseIsNamed) {
    ASSERT_TRUE(write_file(file(), std::string(8192, 'x')));
    const auto opened = Store::open(file(), Store::Mode::read_write);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().fault, Fault::io);
    EXPECT_NE(opened.error().text().find("kab.db"), std::string::npos);
    EXPECT_NE(opened.error().text().find("not a database"), std::string::npos) << opened.error().text();
    const auto read = Store::open(file(), Store::Mode::read_only);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().text().find("move it away"), std::string::npos) << read.error().text();
    EXPECT_EQ(read.error().text().find("permission"), std::string::npos) << read.error().text();
}

TEST_F(Migrations, TheEmbeddedOnesAreTheFilesOfSchema) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(KAB_SOURCE_DIR) / "schema"))
        if (entry.path().extension() == ".sql") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    const auto list = embedded_migrations();
    ASSERT_EQ(list.size(), files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        EXPECT_EQ(list[i].number, static_cast<int>(i) + 1);
        EXPECT_EQ(read_file(files[i]).value_or(""), list[i].sql);
    }
}

TEST_F(Migrations, EveryTableIsStrict) {
    const test::SampleDatabase sample;
    auto store = Store::open(sample.file(), Store::Mode::read_only);
    ASSERT_TRUE(store);
    const auto loose = (*store)->query(
        "SELECT name FROM pragma_table_list WHERE type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'");
    ASSERT_TRUE(loose) << loose.error().text();
    EXPECT_TRUE(loose->rows.empty()) << *loose->rows.front().front();
}

}  // namespace
}  // namespace kab::store
