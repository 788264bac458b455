#include <gtest/gtest.h>

#include <map>

#include "daemon/store/store.h"
#include "tests/support/database/sample_database.h"

namespace kab::store {
namespace {

using test::SampleDatabase;
using test::SampleOptions;

using Counts = std::map<std::string, std::int64_t>;

/// The query of the documentation: timed samples by arm.
Counts elapsed_counts(const SampleDatabase& sample) {
    auto reader = Store::open(sample.file(), Store::Mode::read_only);
    EXPECT_TRUE(reader) << reader.error().text();
    const auto table = (*reader)->query(fmt::format(
        "select arm, count(*) from v_sample where evaluation = '{}' and metric = 'elapsed' and not warmup group by arm",
        test::sample_evaluation()));
    EXPECT_TRUE(table) << table.error().text();
    Counts counts;
    for (const auto& row : table->rows) counts[*row[0]] = std::stoll(*row[1]);
    return counts;
}

TEST(Views, CountTimedIterationsTimesAcceptedBoots) {
    SampleOptions options;
    options.blocks = 4;
    options.iterations = 3;
    const SampleDatabase sample(options);
    // Block 3 was interrupted once and repeated: its first boots do not count.
    EXPECT_EQ(elapsed_counts(sample),
              (Counts{{"inline-free", 12}, {"per-ns-work", 12}, {"deferred-free", 12}, {"A'", 12}}));
}

TEST(Views, ABlockThatStillRunsDoesNotCount) {
    SampleOptions options;
    options.blocks = 2;
    options.status = "running";
    const SampleDatabase sample(options);
    const auto counts = elapsed_counts(sample);
    EXPECT_EQ(counts.at("inline-free"), 10);
    const auto tree = sample.store->tree(test::sample_evaluation());
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree->blocks.back().status, "running");
    EXPECT_GT(tree->boots.size(), 8U);
}

TEST(Views, ACrashedBootHasNoSamplesButARow) {
    SampleOptions options;
    options.crashing_arm = "deferred-free";
    options.interrupted_block = false;
    const SampleDatabase sample(options);
    EXPECT_EQ(elapsed_counts(sample).at("deferred-free"), 4 * 5);
    EXPECT_EQ(elapsed_counts(sample).at("inline-free"), 6 * 5);
    const auto boots = sample.store->boots(test::sample_evaluation());
    ASSERT_TRUE(boots);
    EXPECT_EQ(boots->size(), 24U);
    int crashed = 0;
    for (const auto& boot : *boots)
        if (boot.outcome == "kernel-crash") ++crashed;
    EXPECT_EQ(crashed, 2);
    const auto events = sample.store->console_events(test::sample_evaluation());
    ASSERT_TRUE(events);
    ASSERT_EQ(events->size(), 2U);
    EXPECT_EQ(events->front().kind, "warning");
    for (const auto& event : *events) {
        EXPECT_EQ(event.boots, 2);
        EXPECT_EQ(event.block, 2);
        EXPECT_EQ(event.arm, "deferred-free");
    }
    const auto failed = sample.store->failed_boots(test::sample_evaluation());
    ASSERT_TRUE(failed) << failed.error().text();
    ASSERT_EQ(failed->size(), 2U);
    for (const auto& boot : *failed) {
        EXPECT_EQ(boot.arm + " " + boot.outcome, "deferred-free kernel-crash");
        EXPECT_EQ(boot.detail, "kernel BUG at ipc/namespace.c:117!");
        EXPECT_EQ(boot.kind + " " + boot.severity, "bug fatal") << "the worst that its console tells";
        EXPECT_EQ(boot.signature, "kernel BUG at ipc/namespace.c");
        EXPECT_EQ(boot.line, 412);
        EXPECT_NE(boot.text.find("put_ipc_ns"), std::string::npos);
        EXPECT_NE(boot.console_path, "");
    }
    EXPECT_EQ(failed->front().block, 2);
    EXPECT_EQ(failed->back().block, 4);
}

TEST(Readers, SamplesComeInBootOrderWithReasons) {
    const SampleDatabase sample;
    const auto rows = sample.store->samples(test::sample_evaluation());
    ASSERT_TRUE(rows) << rows.error().text();
    // 6 blocks x 4 arms x ((1 + 5) timed x 2 metrics + 2 counted x 12 metrics)
    ASSERT_EQ(rows->size(), 6U * 4 * (6 * 2 + 2 * 12));
    for (std::size_t i = 1; i < rows->size(); ++i)
        ASSERT_LE(std::pair((*rows)[i - 1].block, (*rows)[i - 1].position),
                  std::pair((*rows)[i].block, (*rows)[i].position));
    for (const auto& row : *rows) {
        ASSERT_NE(row.value.has_value(), !row.reason.empty());
        if (row.metric == "cycles") {
            ASSERT_EQ(row.reason, "no hardware counters on this machine");
        }
        if (row.metric == "task-clock") {
            ASSERT_EQ(row.enabled_ns, row.running_ns);
            ASSERT_EQ(row.kind, "counted");
        }
    }
}

TEST(Readers, AProfileIsTheMeanOfABootsProfiledRuns) {
    SampleOptions options;
    options.blocks = 2;
    options.profile_iterations = 2;
    const SampleDatabase sample(options);
    const auto reader = Store::open(sample.file(), Store::Mode::read_only);
    ASSERT_TRUE(reader) << reader.error().text();
    const auto profiles = (*reader)->profiles(test::sample_evaluation());
    ASSERT_TRUE(profiles) << profiles.error().text();
    const auto find = [&](const std::string& symbol, const std::string& caller) {
        for (const auto& row : *profiles)
            if (row.block == 2 && row.arm == "inline-free" && row.symbol == symbol && row.caller == caller) return row;
        ADD_FAILURE() << "no " << symbol;
        return ProfileRow{};
    };
    const auto query = [&](const std::string& what, const std::string& where) {
        const auto table = (*reader)->query("SELECT " + what +
                                            " FROM v_profile WHERE block = 2 AND arm = 'inline-free' "
                                            "AND " +
                                            where);
        EXPECT_TRUE(table) << table.error().text();
        return table && !table->rows.empty() ? std::stod(table->rows[0][0].value_or("nan")) : -1;
    };
    const std::string lock = "symbol = '_raw_spin_lock' AND caller = 'free_ipcs'";
    EXPECT_EQ(query("count(*)", lock), 2) << "both runs have it";
    EXPECT_DOUBLE_EQ(find("_raw_spin_lock", "free_ipcs").share, query("avg(share)", lock));
    EXPECT_EQ(static_cast<double>(find("_raw_spin_lock", "free_ipcs").samples), query("sum(samples)", lock));
    const std::string rare = "symbol = 'rare_function'";
    EXPECT_EQ(query("count(*)", rare), 1) << "one of the two";
    EXPECT_DOUBLE_EQ(find("rare_function", "").share, query("sum(share)", rare) / 2) << "none counts as 0";
    double sum = 0;
    for (const auto& row : *profiles)
        if (row.block == 1 && row.arm == "deferred-free") sum += row.share;
    EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(Readers, BootsTellAttemptsAndEnvironment) {
    const SampleDatabase sample;
    const auto boots = sample.store->boots(test::sample_evaluation());
    ASSERT_TRUE(boots) << boots.error().text();
    EXPECT_EQ(boots->size(), 6U * 4 + 4);
    std::int64_t attempts = 0;
    for (const auto& boot : *boots) attempts += boot.attempts;
    EXPECT_EQ(attempts, 6 * 4 + 2 + 1);
    EXPECT_EQ(boots->front().host, "local");
    EXPECT_EQ(boots->front().accel, "tcg");
    EXPECT_EQ(boots->front().console_path.rfind("consoles/", 0), 0U);
    EXPECT_NE(boots->front().environment.find("clocksource"), std::string::npos);
}

TEST(Readers, ATreeIsWhole) {
    const SampleDatabase sample;
    const auto tree = sample.store->tree(test::sample_evaluation());
    ASSERT_TRUE(tree) << tree.error().text();
    ASSERT_EQ(tree->arms.size(), 4U);
    EXPECT_EQ(tree->arms[0].name, "inline-free");
    EXPECT_EQ(tree->arms[0].against, "");
    EXPECT_EQ(tree->arms[3].name, "A'");
    EXPECT_EQ(tree->arms[3].against, "inline-free");
    EXPECT_TRUE(tree->arms[3].control);
    EXPECT_EQ(tree->arms[0].kernel_id, tree->arms[3].kernel_id);
    EXPECT_EQ(tree->blocks.size(), 7U);
    EXPECT_EQ(tree->metrics.size(), 14U);
    EXPECT_TRUE(tree->evaluation.finished_at.has_value());
    EXPECT_EQ(sample.store->kernels_of(test::sample_evaluation())->size(), 4U);
    EXPECT_EQ(sample.store->kernels()->size(), 3U);
    EXPECT_FALSE(sample.store->kernel("no such key")->has_value());
    EXPECT_EQ(sample.store->hosts()->size(), 1U);
}

class Find : public testing::Test {
  protected:
    Find() : sample_(small(1)) { test::fill(*sample_.store, small(2)); }
    static SampleOptions small(int number) {
        SampleOptions options;
        options.number = number;
        options.blocks = 1;
        return options;
    }
    std::string found(const std::string& name) {
        const auto row = sample_.store->find_evaluation(name);
        return row ? row->uid : row.error().text();
    }
    SampleDatabase sample_;
};

TEST_F(Find, ByUidPrefixLastAndExperiment) {
    const auto first = test::sample_evaluation(1), second = test::sample_evaluation(2);
    EXPECT_EQ(found(first), first);
    EXPECT_EQ(found("last"), second);
    EXPECT_EQ(found("ipc-ns-deferred-free"), second);
    EXPECT_EQ(found(first.substr(0, 10)), first);
    EXPECT_EQ(found("01kdxf0001"), first);
}

TEST_F(Find, WhatIsNotThereComesWithASuggestion) {
    EXPECT_EQ(found("ipc-ns-defered-free"),
              "no evaluation 'ipc-ns-defered-free'; did you mean 'ipc-ns-deferred-free'? `kab list` shows all");
    EXPECT_EQ(found("zebra"), "no evaluation 'zebra'; `kab list` shows all");
    EXPECT_EQ(found("01k"),
              "no evaluation '01k': the beginning of a uid needs four characters or more; `kab list` shows all");
    EXPECT_EQ(found("%"), "no evaluation '%'; `kab list` shows all");
    EXPECT_NE(found("01KDXF").find("is the start of 2 evaluations"), std::string::npos) << found("01KDXF");
    const auto near_uid = "1" + test::sample_evaluation(1).substr(1);
    EXPECT_NE(found(near_uid).find("did you mean '" + test::sample_evaluation(1)), std::string::npos)
        << found(near_uid);
}

TEST_F(Find, ListsNewestFirst) {
    const auto rows = sample_.store->evaluations();
    ASSERT_TRUE(rows);
    ASSERT_EQ(rows->size(), 2U);
    EXPECT_EQ(rows->front().uid, test::sample_evaluation(2));
    EXPECT_TRUE(rows->front().experiment_json.empty());
    EXPECT_EQ(sample_.store->evaluations(1)->size(), 1U);
}

}  // namespace
}  // namespace kab::store
