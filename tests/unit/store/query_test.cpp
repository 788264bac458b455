#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/store/store.h"
#include "tests/support/database/sample_database.h"

namespace kab::store {
namespace {

using testing::HasSubstr;

class Query : public testing::Test {
  protected:
    Query() {
        auto store = Store::open(sample_.file(), Store::Mode::read_only);
        if (store) reader_ = std::move(*store);
    }
    void SetUp() override { ASSERT_TRUE(reader_); }
    std::string refused(const std::string& sql, std::int64_t max_rows = 1000) {
        const auto table = reader_->query(sql, max_rows);
        if (table) return "it was allowed";
        EXPECT_EQ(table.error().fault, Fault::usage);
        EXPECT_EQ(table.error().text().find('\n'), std::string::npos);
        return table.error().text();
    }
    test::SampleDatabase sample_{[] {
        test::SampleOptions options;
        options.blocks = 1;
        return options;
    }()};
    std::unique_ptr<Store> reader_;
};

TEST_F(Query, GivesNamesTypesAndValues) {
    const auto table =
        reader_->query("SELECT 1 AS one, 0.1 AS tenth, 'x' AS letter, NULL AS missing, x'0aff' AS bytes");
    ASSERT_TRUE(table) << table.error().text();
    EXPECT_EQ(table->columns, (std::vector<std::string>{"one", "tenth", "letter", "missing", "bytes"}));
    EXPECT_EQ(table->types, (std::vector<std::string>{"integer", "real", "text", "null", "blob"}));
    ASSERT_EQ(table->rows.size(), 1U);
    EXPECT_EQ(table->rows[0][0], "1");
    EXPECT_EQ(table->rows[0][1], "0.1");
    EXPECT_EQ(table->rows[0][2], "x");
    EXPECT_FALSE(table->rows[0][3].has_value());
    EXPECT_EQ(table->rows[0][4], "0aff");
}

TEST_F(Query, MayReadInManyWays) {
    for (const char* sql :
         {"SELECT count(*) FROM v_sample;",
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n",
          "EXPLAIN QUERY PLAN SELECT * FROM v_sample", "PRAGMA table_info(sample)", "PRAGMA user_version",
          "SELECT name FROM sqlite_schema", "  SELECT 1 ; -- done", "VALUES (1), (2)",
          "SELECT key FROM json_each('{\"a\": 1}')", "SELECT name FROM pragma_table_info('sample')",
          "SELECT json_extract(environment, '$.clocksource') FROM v_boot"}) {
        const auto table = reader_->query(sql);
        EXPECT_TRUE(table) << sql << ": " << table.error().text();
    }
}

TEST_F(Query, MayNotChangeOrReachOut) {
    for (const char* sql : {"DELETE FROM sample", "UPDATE evaluation SET verdict = 'improved'",
                            "INSERT INTO host VALUES (1)", "DROP TABLE sample", "CREATE TABLE t (x)",
                            "CREATE TEMP TABLE t (x)", "ATTACH '/tmp/other.db' AS other", "VACUUM INTO '/tmp/copy.db'",
                            "PRAGMA journal_mode = DELETE", "PRAGMA user_version = 7", "PRAGMA query_only = OFF",
                            "PRAGMA wal_checkpoint(TRUNCATE)", "BEGIN", "SELECT load_extension('x')", "REINDEX"})
        EXPECT_THAT(refused(sql), HasSubstr("SQL: ")) << sql;
    EXPECT_NE(*reader_->query("PRAGMA user_version")->rows[0][0], "7");
}

TEST_F(Query, ErrorsPointAtThePlace) {
    EXPECT_THAT(refused("SELECT arm, nonsense FROM v_sample"),
                HasSubstr("no such column: nonsense (at character 13: \"nonsense FROM"));
    EXPECT_THAT(refused("SELEC 1"), HasSubstr("syntax error (at character 1: \"SELEC 1\")"));
    EXPECT_THAT(refused(""), HasSubstr("no statement"));
    EXPECT_THAT(refused("-- nothing"), HasSubstr("no statement"));
    EXPECT_THAT(refused("SELECT 1; SELECT 2"), HasSubstr("one statement at a time"));
    EXPECT_THAT(refused("SELECT 1; DROP TABLE x"), HasSubstr("one statement at a time"));
    EXPECT_THAT(refused("SELECT ?1"), HasSubstr("instead of parameters such as ?1"));
}

TEST_F(Query, HasBounds) {
    EXPECT_THAT(refused("SELECT * FROM sample", 3), HasSubstr("more than 3 rows"));
    EXPECT_THAT(refused("SELECT zeroblob(500000000)"), HasSubstr("too big"));
    EXPECT_TRUE(reader_->query("SELECT 1"));
}

TEST_F(Query, NeedsAStoreOpenedReadOnly) {
    const auto table = sample_.store->query("SELECT 1");
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().fault, Fault::internal);
}

}  // namespace
}  // namespace kab::store
