#include <gmock/gmock.h>

#include "tests/unit/history/nights_of.h"

namespace kab::history {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Questions, are_those_of_the_newest_evaluation_unless_asked) {
    test::SampleDatabase database;
    const auto records = gathered(*database.store, "ipc-ns-deferred-free");
    const auto usual = questions(records, "ipc-ns-deferred-free", {}, {}, {});
    ASSERT_TRUE(usual);
    ASSERT_THAT(*usual, SizeIs(2));
    EXPECT_EQ((*usual)[0].arm, "per-ns-work");
    EXPECT_EQ((*usual)[1].arm, "deferred-free");
    EXPECT_EQ((*usual)[0].metric, "elapsed");
    const auto control = questions(records, "ipc-ns-deferred-free", "A'", "ipcns-exit/backlog", {});
    ASSERT_TRUE(control && control->size() == 1);
    EXPECT_EQ(control->front().metric, "backlog");
}

TEST(Questions, that_no_evaluation_answers_name_what_there_is) {
    test::SampleDatabase database;
    const auto records = gathered(*database.store, "ipc-ns-deferred-free");
    const auto text = [&](std::optional<std::string> arm, std::optional<std::string> metric,
                          std::optional<std::string> point) {
        const auto asked = questions(records, "ipc-ns-deferred-free", arm, metric, point);
        EXPECT_FALSE(asked);
        EXPECT_EQ(asked.error().fault, Fault::usage);
        return asked.error().text();
    };
    EXPECT_THAT(text("fast", {}, {}), HasSubstr("the arm 'fast' (there is per-ns-work, deferred-free, A')"));
    EXPECT_THAT(text({}, "elapsed", {}), HasSubstr("(there is ipcns-exit/elapsed, ipcns-exit/backlog)"));
    EXPECT_THAT(text({}, {}, "tasks=4"), HasSubstr("the point 'tasks=4' (there is \"\")"));
}

TEST(Questions, there_are_none_before_the_first_look) {
    test::EmptyDatabase database;
    Night night;
    night.look = false;
    add_night(*database.store, night);
    const auto asked = questions(gathered(*database.store), "nightly", {}, {}, {});
    ASSERT_TRUE(asked);
    EXPECT_THAT(*asked, IsEmpty());
}

}  // namespace
}  // namespace kab::history
