#include "agent/guest/hung_tasks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/files.h"

namespace kab::guest {
namespace {

class HungTasks : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(write_file(file_, "120\n")); }
    void TearDown() override { ::unlink(file_.c_str()); }
    std::string told(std::string_view command_line) {
        const auto set = set_hung_task_time(command_line, file_);
        EXPECT_TRUE(set) << set.error().text();
        return read_file(file_).value_or("");
    }
    const fs::path file_ = fs::path(testing::TempDir()) / ("hung-tasks-" + std::to_string(::getpid()));
};

TEST_F(HungTasks, AreToldAfterTheTimeOfTheCommandLine) {
    EXPECT_EQ(told("console=ttyS0 kab.hung_task=15 kab.channel=virtio").substr(0, 3), "15\n");
}

TEST_F(HungTasks, AreLeftAsTheyAreWithoutATimeAndWhereTheExperimentSetsIt) {
    for (const char* line : {"", "kab.hung_task=", "kab.hung_task=soon", "hung_task=15",
                             "kab.hung_task=15 sysctl.kernel.hung_task_timeout_secs=300"})
        EXPECT_EQ(told(line), "120\n") << line;
}

TEST_F(HungTasks, AreNotLookedForByEveryKernel) {
    EXPECT_TRUE(set_hung_task_time("kab.hung_task=15", file_.string() + "-absent"));
    EXPECT_FALSE(fs::exists(file_.string() + "-absent"));
}

TEST_F(HungTasks, AFileThatCannotBeWrittenIsNamed) {
    const auto set = set_hung_task_time("kab.hung_task=15", testing::TempDir());
    ASSERT_FALSE(set);
    EXPECT_NE(set.error().text().find(testing::TempDir()), std::string::npos);
}

}  // namespace
}  // namespace kab::guest
