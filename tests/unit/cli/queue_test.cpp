#include "cli/queue.h"

#include <gtest/gtest.h>

namespace kab::cli {
namespace {

api::Evaluation evaluation(const std::string& uid, const std::string& experiment, const std::string& status) {
    api::Evaluation one;
    one.uid = uid;
    one.experiment = experiment;
    one.status = status;
    if (status == "done") one.finished_at = 1;
    return one;
}

TEST(Queue, NamesWhoIsAheadAndHowFar) {
    auto running = evaluation("A", "ipc-ns", "running");
    running.progress = api::Progress{"A", "boot", "base", "running", 3, 4, 2, 6};
    const std::vector<api::Evaluation> all{evaluation("E", "later", "queued"), evaluation("D", "ipc-ns", "queued"),
                                           evaluation("C", "small", "queued"), evaluation("B", "old", "done"), running};
    EXPECT_EQ(describe_queue(all, "C"), "queued behind ipc-ns (block 2/6)");
    EXPECT_EQ(describe_queue(all, "D"), "queued behind A (block 2/6), 1 more before this one");
    EXPECT_EQ(describe_queue(all, "E"), "queued behind ipc-ns (block 2/6), 2 more before this one");
}

TEST(Queue, BuildsAndFreezesAreNamedToo) {
    auto building = evaluation("A", "ipc-ns", "building");
    building.progress = api::Progress{"A", "build", "change", "compile", 3, 4};
    EXPECT_EQ(describe_queue({evaluation("B", "b", "queued"), building}, "B"),
              "queued behind ipc-ns (building change)");
    EXPECT_EQ(describe_queue({evaluation("B", "b", "queued"), evaluation("A", "a", "freezing")}, "B"),
              "queued behind a (freezing)");
}

TEST(Queue, NothingAheadIsNothingToSay) {
    EXPECT_EQ(describe_queue({evaluation("B", "b", "queued"), evaluation("A", "a", "done")}, "B"), "");
    EXPECT_EQ(describe_queue({evaluation("A", "a", "running")}, "B"), "");
    EXPECT_EQ(describe_queue({}, "B"), "");
}

}  // namespace
}  // namespace kab::cli
