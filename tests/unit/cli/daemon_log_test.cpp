#include "cli/daemon_log.h"

#include <gtest/gtest.h>

namespace kab::cli {
namespace {

TEST(DaemonLog, TellsTheLastComplaintOfThisTime) {
    const auto directory = TempDir::make("kab-log-").value();
    const auto path = directory.path() / "kabd.log";
    std::string text = "2026-03-01T12:00:00.000 critical of another time\n";
    ASSERT_TRUE(write_file(path, text));
    DaemonLog log(path);
    const auto add = [&](const std::string& line) {
        text += line + "\n";
        ASSERT_TRUE(write_file(path, text));
    };
    EXPECT_EQ(log.complaint(), "");
    EXPECT_EQ(log.last_line(), "");
    add("2026-03-01T12:00:00.000 info an error is not what this is");
    EXPECT_EQ(log.complaint(), "");
    add("2026-03-01T12:00:00.000 error one thing");
    add("kabd: cannot open shared object file");
    EXPECT_EQ(log.complaint(), "one thing");
    EXPECT_EQ(log.last_line(), "kabd: cannot open shared object file");
    add("2026-03-01T12:00:00.000 critical disk full: /x");
    add("2026-03-01T12:00:00.000 error afterwards");
    EXPECT_EQ(log.complaint(), "disk full: /x");
    log.skip();
    EXPECT_EQ(log.complaint(), "");
}

TEST(DaemonLog, NoFileIsNoComplaint) {
    const DaemonLog log("/nonexistent/kabd.log");
    EXPECT_EQ(log.complaint(), "");
    EXPECT_EQ(log.last_line(), "");
}

}  // namespace
}  // namespace kab::cli
