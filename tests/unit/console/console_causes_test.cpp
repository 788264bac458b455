// What belongs to which finding: panics, and stalls within other reports.
#include <gtest/gtest.h>

#include "agent/host/console/console_scanner.h"
#include "tests/unit/console/scan.h"

namespace kab {
namespace {

TEST(ConsoleCauses, a_warning_that_panics_is_fatal_and_still_a_warning) {
    ConsoleScanner scanner;
    scanner.push(
        "[ 1.1] ------------[ cut here ]------------\n"
        "[ 1.1] WARNING: CPU: 0 PID: 1 at ipc/namespace.c:131 free_ipc+0x5/0x10\n"
        "[ 1.1] RIP: 0010:free_ipc+0x5/0x10\n"
        "[ 1.1] ---[ end trace 0000000000000000 ]---\n"
        "[ 1.2] Kernel panic - not syncing: kernel: panic_on_warn set ...\n");
    EXPECT_TRUE(scanner.fatal());
    EXPECT_EQ(scanner.fatal_line(), "WARNING: CPU: 0 PID: 1 at ipc/namespace.c:131 free_ipc+0x5/0x10");
    const auto events = scanner.finish();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "warning");
    EXPECT_EQ(events[0].severity, "fatal");
}

TEST(ConsoleCauses, a_panic_is_laid_to_what_came_right_before_it) {
    const std::string one = "[ 1.1] WARNING: CPU: 0 PID: 1 at a.c:1 f+0x5/0x10\n[ 1.1] ---[ end trace 0 ]---\n";
    const std::string two = "[ 1.1] WARNING: CPU: 0 PID: 1 at b.c:1 g+0x5/0x10\n[ 1.1] ---[ end trace 0 ]---\n";
    const auto events = scan(one + two + one + "[ 1.2] Kernel panic - not syncing: kernel: panic_on_warn set ...\n");
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].severity, "fatal") << "it is told once, but it was the last";
    EXPECT_EQ(events[1].severity, "warning");
}

TEST(ConsoleCauses, a_panic_is_not_laid_to_what_came_long_before_it) {
    const std::string warning = "[ 1.1] WARNING: CPU: 0 PID: 1 at a.c:1 f+0x5/0x10\n[ 1.1] ---[ end trace 0 ]---\n";
    const std::string set = "Kernel panic - not syncing: kernel: panic_on_warn set ...\n";
    const std::string death = "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009\n";
    const std::string oops = "[ 1.1] Oops: 0002 [#1] SMP\n[ 1.1] ---[ end trace 0 ]---\n";
    const std::string oom = "[ 1.1] Out of memory: Killed process 1 (init)\n";
    const auto kinds = [](const std::string& text) {
        ConsoleScanner scanner;
        scanner.push(text);
        std::string told = scanner.fatal_line().starts_with("Kernel panic") ? "panic:" : "cause:";
        for (const auto& event : scanner.finish()) told += " " + event.kind + "/" + event.severity;
        return told;
    };
    EXPECT_EQ(kinds(warning + "[ 61.0] " + set), "panic: warning/warning panic/fatal") << "of another warning";
    EXPECT_EQ(kinds(warning + "[ 1.2] " + death), "panic: warning/warning panic/fatal") << "no warning kills init";
    EXPECT_EQ(kinds("[ 1.1] BUG: x\n[ 1.1] Call Trace:\n[ 1.2] " + death), "cause: bug/fatal");
    EXPECT_EQ(kinds(oops + "[ 1.2] " + death), "cause: oops/fatal");
    EXPECT_EQ(kinds(oops + "[ 61.0] " + death), "cause: oops/fatal panic/fatal") << "the oops came first";
    EXPECT_EQ(kinds(oom + "[ 1.2] " + death), "cause: oom/fatal");
    EXPECT_EQ(kinds("WARNING: CPU: 0 PID: 1 at a.c:1 f+0x5/0x10\n" + set), "cause: warning/fatal") << "no times";
    EXPECT_EQ(kinds("[ 1.1] refcount_t: underflow; use-after-free.\n[ 1.2] " + death),
              "panic: warning/warning panic/fatal")
        << "while the report is open";
}

TEST(ConsoleCauses, a_stall_within_another_report_is_noted) {
    ConsoleScanner scanner;
    scanner.push(
        "[ 9.0] WARNING: CPU: 0 PID: 1 at a.c:1 f+0x5/0x10\n[ 9.1]  <TASK>\n"
        "[ 9.2] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]\n");
    EXPECT_EQ(scanner.stall_line(), "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]");
    EXPECT_EQ(scanner.lines(), 3);
    EXPECT_EQ(scanner.finish().size(), 1U);
}

}  // namespace
}  // namespace kab
