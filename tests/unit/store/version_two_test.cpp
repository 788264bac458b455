// A database of version 1 with everything in it, brought to version 2.
#include <gtest/gtest.h>

#include "daemon/store/migrations.h"
#include "daemon/store/store.h"

namespace kab::store {
namespace {

/// Two evaluations: one done, whose block was interrupted once, and one cancelled in its first block.
constexpr const char* rows = R"(
INSERT INTO experiment VALUES (1, 'e', 1);
INSERT INTO evaluation (id, uid, experiment_id, status, spec_text, spec_hash, plan_text, plan_hash, experiment_json, seed,
                        created_at, finished_at, looks_done, verdict, detail)
VALUES (1, printf('%026d', 1), 1, 'done', 's', 'h', 'p', 'ph', '{}', '1', 1, 2, 1, 'improved', ''),
       (2, printf('%026d', 2), 1, 'cancelled', 's', 'h', 'p', 'ph', '{}', '1', 1, 2, 0, '', 'cancelled by request');
INSERT INTO kernel (id, key) VALUES (1, 'k');
INSERT INTO arm (id, evaluation_id, position, name, against_id, control, kernel_request, kernel_id)
VALUES (1, 1, 0, 'base', NULL, 0, '{}', 1), (2, 1, 1, 'b', 1, 0, '{}', 1), (3, 1, 2, 'A''', 1, 1, '{}', 1),
       (4, 2, 0, 'base', NULL, 0, '{}', 1);
INSERT INTO point (id, evaluation_id, workload, number) VALUES (1, 1, 'w', 0);
INSERT INTO metric (id, evaluation_id, workload, name, unit, better, scale) VALUES (1, 1, 'w', 'm', 'ns', 'lower', 'log');
INSERT INTO host VALUES (1, 'h', 'h', 'qemu', 'up', '{}', 1);
INSERT INTO block (id, evaluation_id, number, repetition, status, detail, started_at, finished_at)
VALUES (1, 1, 1, 1, 'excluded', 'interrupted: limits.block was reached', 1, 2), (2, 1, 1, 2, 'complete', '', 3, 4),
       (3, 2, 1, 1, 'excluded', 'cancelled by request', 1, 2);
WITH each (id, block, arm) AS (
    SELECT 3 * (block.id - 1) + arm.id, block.id, arm.id FROM block JOIN arm ON arm.evaluation_id = block.evaluation_id
    WHERE block.evaluation_id = 1)
INSERT INTO boot (id, uid, block_id, arm_id, position, status, outcome)
SELECT id, printf('%026d', 100 + id), block, arm, arm, 'done', 'ok' FROM each;
INSERT INTO attempt (id, uid, boot_id, number, host_id, status, outcome, dispatched_at, finished_at)
SELECT id, printf('%026d', 200 + id), id, 1, 1, 'finished', 'ok', 1, 2 FROM boot;
UPDATE boot SET accepted_attempt_id = id;
INSERT INTO run (id, attempt_id, seq, point_id, iteration, warmup, kind, started_ns)
SELECT id, id, 1, 1, 0, 0, 'timed', 1 FROM attempt;
INSERT INTO sample (run_id, metric_id, value) SELECT id, 1, id FROM run;
INSERT INTO profile_symbol VALUES (4, 'sym', '', 1, 1.0);
INSERT INTO comparison (evaluation_id, look, workload, point, metric, arm_id, against_id, n, is_primary, material, fragile,
                        verdict)
VALUES (1, 0, 'w', '', 'm', 2, 1, 2, 1, 0, 0, 'improved');
CREATE TABLE old_v_sample AS SELECT * FROM v_sample;
CREATE TABLE old_v_comparison AS SELECT * FROM v_comparison;
CREATE TABLE old_v_boot AS SELECT * FROM v_boot;
)";

class VersionTwo : public testing::Test {
  protected:
    VersionTwo() {
        {
            auto old = Database::open(file(), Database::Access::read_write);
            EXPECT_TRUE(old);
            EXPECT_TRUE(migrate(**old, embedded_migrations().first(1), 1));
            const auto filled = (*old)->execute("fill", rows);
            EXPECT_TRUE(filled) << filled.error().text();
        }
        const auto migrated = Store::open(file(), Store::Mode::read_write);
        EXPECT_TRUE(migrated) << migrated.error().text();
        auto opened = Store::open(file(), Store::Mode::read_only);
        EXPECT_TRUE(opened) << opened.error().text();
        store_ = std::move(*opened);
    }
    fs::path file() const { return directory_.path() / "kab.db"; }
    /// All rows, their cells with a blank between.
    std::string ask(const std::string& sql) const {
        const auto table = store_->query(sql);
        EXPECT_TRUE(table) << sql << ": " << table.error().text();
        std::string text;
        for (const auto& row : table ? table->rows : decltype(table->rows)())
            for (const auto& cell : row) text += (text.empty() ? "" : " ") + cell.value_or("null");
        return text;
    }

    TempDir directory_ = std::move(*TempDir::make("kab-version-two-"));
    std::unique_ptr<Store> store_;
};

TEST_F(VersionTwo, TheViewsShowWhatTheyShowed) {
    const std::pair<const char*, const char*> counts[] = {{"v_sample", "3"}, {"v_comparison", "1"}, {"v_boot", "6"}};
    for (const auto& [view, count] : counts) {
        const auto columns = ask(std::string("SELECT group_concat(name) FROM pragma_table_info('old_") + view + "')");
        EXPECT_EQ(ask(std::string("SELECT count(*) FROM ") + view), count);
        EXPECT_EQ(ask("SELECT count(*) FROM (SELECT " + columns + " FROM " + view + " INTERSECT SELECT * FROM old_" +
                      view + ")"),
                  count)
            << view;
    }
}

TEST_F(VersionTwo, RolesAndCausesFollowFromWhatThereWas) {
    EXPECT_EQ(ask("SELECT name, role FROM arm ORDER BY id"), "base measured b measured A' control base measured");
    EXPECT_EQ(ask("SELECT cause FROM block WHERE status = 'excluded' ORDER BY id"), "interrupted ended");
    EXPECT_EQ(ask("SELECT cause FROM block WHERE status <> 'excluded'"), "");
    EXPECT_EQ(ask("SELECT arm, symbol FROM v_profile"), "base sym");
    EXPECT_EQ(ask("SELECT count(*) FROM v_condition"), "0");
}

TEST_F(VersionTwo, ForeignKeysHoldOnTheTablesThatWereRebuilt) {
    store_.reset();
    auto database = Database::open(file(), Database::Access::read_write);
    ASSERT_TRUE(database);
    EXPECT_EQ((*database)->integer("look", "SELECT count(*) FROM pragma_foreign_key_check").value_or(-1), 0);
    EXPECT_EQ((*database)
                  ->integer("look", "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
                  .value_or(-1),
              0);
    for (const char* sql : {"DELETE FROM block WHERE id = 2", "DELETE FROM run WHERE id = 1",
                            "INSERT INTO condition VALUES (99, 'steal', 0.1, NULL)"}) {
        const auto done = (*database)->execute("break", sql);
        ASSERT_FALSE(done) << sql;
        EXPECT_NE(done.error().text().find("FOREIGN KEY"), std::string::npos) << done.error().text();
    }
    EXPECT_TRUE((*database)->execute("add", "INSERT INTO condition VALUES (4, 'steal', 0.1, NULL)"));
    EXPECT_TRUE((*database)->execute("delete", "DELETE FROM block WHERE id = 3")) << "which has no boots";
}

}  // namespace
}  // namespace kab::store
