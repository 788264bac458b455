// What the machine did beside the runs, as it is stored and read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/store/store.h"
#include "tests/support/database/sample_database.h"

namespace kab::store {
namespace {

test::SampleOptions noisy() {
    test::SampleOptions options;
    options.noisy = true;
    options.interrupted_block = false;
    options.crashing_arm = "deferred-free";
    return options;
}

class ConditionsTest : public testing::Test {
  protected:
    std::string text(const std::string& sql) const {
        auto reader = Store::open(sample_.file(), Store::Mode::read_only);
        EXPECT_TRUE(reader);
        const auto table = (*reader)->query(sql);
        EXPECT_TRUE(table) << table.error().text();
        return table && !table->rows.empty() ? table->rows[0][0].value_or("") : "";
    }
    test::SampleDatabase sample_{noisy()};
};

TEST_F(ConditionsTest, OnlyRunsThatCountAreInAReport) {
    const auto rows = sample_.store->conditions(test::sample_evaluation());
    ASSERT_TRUE(rows) << rows.error().text();
    std::set<std::int64_t> blocks;
    std::size_t crashed = 0, absent = 0;
    for (const auto& row : *rows) {
        blocks.insert(row.block);
        if (row.block == 2 || row.block == 4) {
            EXPECT_EQ(row.repetition, row.block / 2 + 1);
            crashed += row.arm == "deferred-free" ? 1U : 0U;
        }
        EXPECT_NE(row.value.has_value(), !row.reason.empty());
        absent += row.value ? 0U : 1U;
    }
    EXPECT_THAT(blocks, testing::ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(crashed, 0U) << "its runs before the crash do not count";
    // 22 boots of 8 runs with 5 conditions.
    EXPECT_EQ(rows->size(), 22U * 8 * 5);
    EXPECT_EQ(absent, 22U * 8);
}

TEST_F(ConditionsTest, ABlocksConditionsAreOfItsGoodBootsAndOfTheAttemptThatIsAsked) {
    // The second boot of the excluded first try at block 2.
    const auto attempt = text(
        "SELECT attempt.uid FROM attempt JOIN boot ON boot.id = attempt.boot_id JOIN block ON block.id = boot.block_id "
        "WHERE block.number = 2 AND block.repetition = 1 AND boot.position = 2");
    const auto rows = sample_.store->block_conditions(attempt);
    ASSERT_TRUE(rows) << rows.error().text();
    std::map<std::string, int> of_arm;
    for (const auto& row : *rows) {
        EXPECT_EQ(row.block, 2);
        EXPECT_EQ(row.repetition, 1);
        ++of_arm[row.arm];
    }
    // deferred-free crashed after three runs and has no accepted attempt; A' went well.
    EXPECT_THAT(of_arm, testing::ElementsAre(testing::Pair("A'", 8 * 5)));
    const auto crashed = text(
        "SELECT attempt.uid FROM attempt JOIN boot ON boot.id = attempt.boot_id JOIN block ON block.id = boot.block_id "
        "JOIN arm ON arm.id = boot.arm_id WHERE block.number = 2 AND block.repetition = 1 AND arm.name = "
        "'deferred-free' ORDER BY attempt.number DESC");
    const auto own = sample_.store->block_conditions(crashed);
    ASSERT_TRUE(own) << own.error().text();
    EXPECT_EQ(own->size(), static_cast<std::size_t>(8 * 5 + 3 * 5));
}

TEST_F(ConditionsTest, AnAttemptThatIsNotThereHasNone) {
    const auto rows = sample_.store->block_conditions("nobody");
    ASSERT_TRUE(rows);
    EXPECT_TRUE(rows->empty());
}

TEST_F(ConditionsTest, TheViewHasExcludedBlocksToo) {
    EXPECT_EQ(text("SELECT group_concat(DISTINCT block || '.' || repetition) FROM (SELECT * FROM v_condition WHERE "
                   "block_status = 'excluded' ORDER BY block, repetition)"),
              "2.1,4.1,4.2");
}

}  // namespace
}  // namespace kab::store
