#include <gtest/gtest.h>

#include "daemon/store/store.h"
#include "tests/support/database/sample_database.h"

namespace kab::store {
namespace {

/// A store with one evaluation whose block 1 runs: the arms of the sample, one boot of the baseline dispatched.
class WriterTest : public testing::Test {
  protected:
    void SetUp() override {
        test::SampleOptions options;
        options.blocks = 0;
        options.status = "running";
        sample_ = std::make_unique<test::SampleDatabase>(options);
        const auto tree = store().tree(uid_);
        ASSERT_TRUE(tree) << tree.error().text();
        for (const auto& boot : tree->boots)
            if (boot.status == "pending") boot_ = boot.uid;
        ASSERT_FALSE(boot_.empty());
        expect_ok([&](Writer& w) { return w.set_boot(boot_, "pending", "running", "", "", 1); });
        expect_ok([&](Writer& w) { return w.add_attempt(boot_, attempt_, 1, "local", 2); });
    }

    Store& store() { return *sample_->store; }
    void expect_ok(const std::function<Status(Writer&)>& body) {
        const auto done = store().write(body);
        EXPECT_TRUE(done) << done.error().text();
    }
    Error expect_refused(Fault fault, const std::function<Status(Writer&)>& body) {
        const auto done = store().write(body);
        EXPECT_FALSE(done);
        if (done) return {};
        EXPECT_EQ(done.error().fault, fault) << done.error().text();
        return done.error();
    }
    std::string ask(const std::string& sql) {
        auto reader = Store::open(sample_->file(), Store::Mode::read_only);
        if (!reader) return reader.error().text();
        const auto table = (*reader)->query(sql);
        if (!table) return table.error().text();
        return table->rows.empty() ? "no row" : table->rows[0][0].value_or("NULL");
    }
    static AttemptEnd ended(const std::string& outcome, bool lost = false) {
        AttemptEnd end;
        end.outcome = outcome;
        end.lost = lost;
        return end;
    }
    static NewRun run(std::int64_t seq) {
        NewRun run;
        run.seq = seq;
        run.workload = "ipcns-exit";
        run.samples = {{"elapsed", 1.5e9, "", {}, {}}, {"backlog", {}, "drain limit reached", {}, {}}};
        return run;
    }

    std::string uid_ = test::sample_evaluation();
    std::string boot_, attempt_ = "01KDXFZZZZ0000000000000001";
    std::unique_ptr<test::SampleDatabase> sample_;
};

TEST_F(WriterTest, AStatusChangesOnlyFromWhereItIs) {
    const auto error =
        expect_refused(Fault::conflict, [&](Writer& w) { return w.set_evaluation(uid_, "queued", "done", "", 9); });
    EXPECT_EQ(error.text(), "evaluation " + uid_ + ": cannot go from 'queued' to 'done', it is 'running'");
    expect_refused(Fault::conflict, [&](Writer& w) { return w.set_arm(uid_, "A'", "building", "ready", "", 9); });
    expect_refused(Fault::conflict, [&](Writer& w) { return w.set_boot(boot_, "pending", "running", "", "", 9); });
    expect_refused(Fault::conflict,
                   [&](Writer& w) { return w.set_block(uid_, 1, 1, "complete", "excluded", "", "", 9); });
    expect_refused(Fault::not_found, [&](Writer& w) { return w.set_arm(uid_, "nobody", "pending", "ready", "", 9); });
    expect_refused(Fault::not_found,
                   [&](Writer& w) { return w.set_block(uid_, 7, 1, "running", "complete", "", "", 9); });
}

TEST_F(WriterTest, APlanHashChangesOnlyFromWhatItIs) {
    const std::string stored = ask("SELECT plan_hash FROM evaluation");
    ASSERT_EQ(stored.size(), 64U);
    expect_refused(Fault::not_found, [&](Writer& w) { return w.seal_plan(uid_, "new"); });
    expect_refused(Fault::not_found, [&](Writer& w) { return w.seal_plan(uid_, "new", "another"); });
    EXPECT_EQ(ask("SELECT plan_hash FROM evaluation"), stored);
    expect_ok([&](Writer& w) { return w.seal_plan(uid_, "new", stored); });
    EXPECT_EQ(ask("SELECT plan_hash FROM evaluation"), "new");
}

TEST_F(WriterTest, AnUnknownStatusIsRefusedByTheDatabase) {
    expect_refused(Fault::conflict, [&](Writer& w) { return w.set_evaluation(uid_, "running", "finished", "", 9); });
    expect_refused(Fault::conflict, [&](Writer& w) { return w.set_boot(boot_, "running", "done", "exploded", "", 9); });
    EXPECT_EQ(ask("SELECT status FROM evaluation"), "running");
}

TEST_F(WriterTest, AConflictUndoesTheWholeTransaction) {
    const auto before = ask("SELECT max(seq) FROM transition");
    expect_refused(Fault::conflict, [&](Writer& w) {
        if (auto added = w.add_run(attempt_, run(1)); !added) return added;
        if (auto set = w.set_evaluation(uid_, "running", "cancelled", "", 9); !set) return set;
        return w.set_evaluation(uid_, "running", "done", "", 9);
    });
    EXPECT_EQ(ask("SELECT max(seq) FROM transition"), before);
    EXPECT_EQ(ask("SELECT status FROM evaluation"), "running");
    EXPECT_EQ(ask("SELECT count(*) FROM run JOIN attempt ON attempt.id = attempt_id WHERE uid = '" + attempt_ + "'"),
              "0");
}

TEST_F(WriterTest, ARunSentAgainIsStoredOnce) {
    expect_ok([&](Writer& w) { return w.add_run(attempt_, run(1)); });
    auto again = run(1);
    again.samples[0].value = 7e9;
    expect_ok([&](Writer& w) { return w.add_run(attempt_, again); });
    const std::string of_attempt =
        " FROM sample JOIN run ON run.id = run_id JOIN attempt ON attempt.id = attempt_id "
        "JOIN metric ON metric.id = metric_id WHERE attempt.uid = '" +
        attempt_ + "'";
    EXPECT_EQ(ask("SELECT count(*)" + of_attempt), "2");
    EXPECT_EQ(ask("SELECT value" + of_attempt + " AND metric.name = 'elapsed'"), "1500000000.0");
    EXPECT_EQ(ask("SELECT reason" + of_attempt + " AND metric.name = 'backlog'"), "drain limit reached");

    expect_ok([&](Writer& w) { return w.finish_attempt(attempt_, ended("ok"), {}, 9); });
    expect_ok([&](Writer& w) { return w.add_run(attempt_, run(1)); });
    const auto late = expect_refused(Fault::conflict, [&](Writer& w) { return w.add_run(attempt_, run(2)); });
    EXPECT_NE(late.text().find("after its end"), std::string::npos) << late.text();
}

TEST_F(WriterTest, ASampleHasAValueOrAReasonAndADeclaredMetric) {
    auto both = run(1);
    both.samples[0].reason = "why not";
    const auto error = expect_refused(Fault::conflict, [&](Writer& w) { return w.add_run(attempt_, both); });
    EXPECT_NE(error.text().find("run 1, metric elapsed"), std::string::npos) << error.text();
    auto neither = run(1);
    neither.samples[1].reason.clear();
    expect_refused(Fault::conflict, [&](Writer& w) { return w.add_run(attempt_, neither); });
    auto unknown = run(1);
    unknown.samples[0].metric = "happiness";
    const auto missing = expect_refused(Fault::not_found, [&](Writer& w) { return w.add_run(attempt_, unknown); });
    EXPECT_NE(missing.text().find("ipcns-exit/happiness"), std::string::npos) << missing.text();
    auto nowhere = run(1);
    nowhere.point = 3;
    expect_refused(Fault::not_found, [&](Writer& w) { return w.add_run(attempt_, nowhere); });
}

TEST_F(WriterTest, OneAttemptIsAccepted) {
    const std::string second = "01KDXFZZZZ0000000000000002";
    expect_ok([&](Writer& w) { return w.finish_attempt(attempt_, ended("infra-error", true), {}, 3); });
    expect_ok([&](Writer& w) { return w.add_attempt(boot_, second, 2, "local", 4); });
    expect_ok([&](Writer& w) { return w.finish_attempt(second, ended("ok"), {}, 5); });
    expect_ok([&](Writer& w) { return w.accept_attempt(boot_, second); });
    expect_ok([&](Writer& w) { return w.accept_attempt(boot_, second); });
    expect_refused(Fault::conflict, [&](Writer& w) { return w.accept_attempt(boot_, attempt_); });
    // An attempt of another boot is nobody's here.
    const auto tree = store().tree(uid_);
    ASSERT_TRUE(tree);
    expect_refused(Fault::not_found, [&](Writer& w) { return w.accept_attempt(boot_, tree->attempts.front().uid); });
    expect_refused(Fault::conflict, [&](Writer& w) { return w.finish_attempt(second, ended("ok"), {}, 6); });
}

TEST_F(WriterTest, ABlockNumberCountsOnce) {
    const auto twice = expect_refused(Fault::conflict, [&](Writer& w) { return w.add_block(uid_, 1, 2, 9); });
    EXPECT_NE(twice.text().find("kab.db"), std::string::npos);
    expect_ok([&](Writer& w) { return w.set_block(uid_, 1, 1, "running", "excluded", "too late", "interrupted", 9); });
    expect_ok([&](Writer& w) { return w.add_block(uid_, 1, 2, 10); });
    expect_refused(Fault::conflict,
                   [&](Writer& w) { return w.set_block(uid_, 1, 1, "excluded", "complete", "", "", 11); });
}

TEST_F(WriterTest, AnAttemptNeedsAKnownHost) {
    const auto error = expect_refused(Fault::not_found, [&](Writer& w) {
        return w.add_attempt(boot_, "01KDXFZZZZ0000000000000003", 2, "far-away", 9);
    });
    EXPECT_EQ(error.text(), "host far-away: not in the database");
}

TEST_F(WriterTest, TheSameSubmissionIsRefusedTwice) {
    NewEvaluation again;
    again.uid = "01KDXFZZZZ0000000000000009";
    again.experiment = "other";
    again.experiment_json = "{}";
    again.idempotency_key = "key-" + uid_;
    expect_refused(Fault::conflict, [&](Writer& w) { return w.add_evaluation(again, 9); });
    EXPECT_EQ(store().evaluation_of_key("key-" + uid_)->value_or("none"), uid_);
    EXPECT_FALSE(store().evaluation_of_key("key-other")->has_value());
}

TEST_F(WriterTest, TransitionsAreTheHistoryInOrder) {
    const auto after = store().last_seq();
    ASSERT_TRUE(after);
    expect_ok([&](Writer& w) { return w.set_evaluation(uid_, "running", "cancelled", "cancelled by request", 77); });
    const auto rows = store().transitions(*after, 10);
    ASSERT_TRUE(rows);
    ASSERT_EQ(rows->size(), 1U);
    EXPECT_EQ(rows->front().object, "evaluation");
    EXPECT_EQ(rows->front().evaluation, uid_);
    EXPECT_EQ(rows->front().from, "running");
    EXPECT_EQ(rows->front().to, "cancelled");
    EXPECT_EQ(rows->front().detail, "cancelled by request");
    EXPECT_EQ(rows->front().at, 77);
    const auto last = store().last_transitions(uid_, 2);
    ASSERT_TRUE(last);
    ASSERT_EQ(last->size(), 2U);
    EXPECT_EQ(last->back().to, "cancelled");
    EXPECT_LT(last->front().seq, last->back().seq);
}

TEST_F(WriterTest, AnEndedEvaluationIsUnfinishedUntilItsAttemptsAreClosed) {
    expect_ok([&](Writer& w) { return w.set_evaluation(uid_, "running", "cancelled", "cancelled by request", 77); });
    EXPECT_EQ(store().unfinished_evaluations()->size(), 1U);
    AttemptEnd end;
    end.outcome = "cancelled";
    end.lost = true;
    expect_ok([&](Writer& w) { return w.finish_attempt(attempt_, end, {}, 78); });
    EXPECT_TRUE(store().unfinished_evaluations()->empty());
}

TEST_F(WriterTest, TheSeedKeepsAll64Bits) {
    EXPECT_EQ(store().tree(uid_)->evaluation.seed, 18446744073709551557ULL);
}

TEST_F(WriterTest, ALookTakenAgainReplacesItself) {
    ComparisonRow row;
    row.arm = "A'";
    row.against = "inline-free";
    row.workload = "ipcns-exit";
    row.metric = "elapsed";
    row.verdict = "pending";
    expect_ok([&](Writer& w) { return w.add_comparisons(uid_, 0, {row}); });
    expect_ok([&](Writer& w) { return w.add_comparisons(uid_, 0, {row}); });
    row.verdict = "inconclusive";
    expect_ok([&](Writer& w) { return w.add_comparisons(uid_, 1, {row}); });
    EXPECT_EQ(ask("SELECT count(*) FROM comparison"), "2");
    EXPECT_EQ(ask("SELECT looks_done FROM evaluation"), "2");
    const auto last = store().comparisons(uid_);
    ASSERT_TRUE(last);
    ASSERT_EQ(last->size(), 1U);
    EXPECT_EQ(last->front().verdict, "inconclusive");
    EXPECT_FALSE(last->front().estimate.has_value());
    expect_ok([&](Writer& w) { return w.add_comparisons(uid_, 0, {row}); });
    EXPECT_EQ(ask("SELECT looks_done FROM evaluation"), "2");
}

TEST_F(WriterTest, AProfileAndConditionsBelongToARunAndAreStoredOnce) {
    auto profiled = run(1);
    profiled.kind = "profiled";
    profiled.profile = {{"schedule", "", 4, 0.5}, {"memset", "do_work", 4, 0.5}};
    profiled.conditions = {{"steal", 0.01, "", {}, {}}, {"canary", {}, "no clock", {}, {}}};
    expect_ok([&](Writer& w) { return w.add_run(attempt_, profiled); });
    expect_ok([&](Writer& w) { return w.add_run(attempt_, profiled); });
    EXPECT_EQ(ask("SELECT sum(share) FROM profile_symbol"), "1.0");
    EXPECT_EQ(ask("SELECT caller FROM profile_symbol WHERE symbol = 'memset'"), "do_work");
    EXPECT_EQ(ask("SELECT kind FROM run ORDER BY id DESC LIMIT 1"), "profiled");
    EXPECT_EQ(ask("SELECT value FROM condition WHERE name = 'steal'"), "0.01");
    EXPECT_EQ(ask("SELECT reason FROM condition WHERE name = 'canary'"), "no clock");
}

TEST_F(WriterTest, AWriteInsideAWriteIsABug) {
    expect_refused(Fault::internal, [&](Writer&) { return store().write([](Writer&) -> Status { return {}; }); });
}

}  // namespace
}  // namespace kab::store
