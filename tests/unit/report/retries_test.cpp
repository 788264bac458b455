// Boots that were tried again for want of infrastructure, as a report says it.
#include <gmock/gmock.h>

#include "daemon/report/compose.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using testing::HasSubstr;
using testing::Not;

/// One line of all text, so that nothing depends on where a line was broken.
std::string flat(const kab::test::SampleOptions& options) {
    const auto report = test::changed(options, [](ReportInput&) {});
    std::string out;
    for (const char c : render_text(report, false))
        if ((c != ' ' && c != '\n') || (!out.empty() && out.back() != ' ')) out += c == '\n' ? ' ' : c;
    return out;
}

TEST(Retries, AreCountedForEachArm) {
    const auto text = flat({});
    EXPECT_THAT(text,
                HasSubstr("1 boot was tried again for want of infrastructure; 1 x \"qemu could not be started: Cannot "
                          "allocate memory\"; by arm: "));
    EXPECT_THAT(text, HasSubstr("per-ns-work 0 of 6 attempts, deferred-free 1 of 7 attempts"));
    EXPECT_THAT(text, Not(HasSubstr("more than chance")));
}

TEST(Retries, AnArmThatLosesItsEmulatorMoreOftenThanChanceGivesIsNamed) {
    kab::test::SampleOptions options;
    options.unlucky_arm = "deferred-free";
    options.interrupted_block = false;
    const auto text = flat(options);
    EXPECT_THAT(text, HasSubstr("17 x \"qemu died of signal 11\""));
    EXPECT_THAT(text, HasSubstr("deferred-free 18 of 24 attempts"));
    EXPECT_THAT(text,
                HasSubstr("Those of deferred-free are more than chance gives beside inline-free (Fisher's exact p "));
}

}  // namespace
}  // namespace kab::report
