// What a report says of boots that failed: first, with signature, trace and where the whole console is.
#include "daemon/report/faults.h"

#include <gmock/gmock.h>

#include <sstream>

#include "daemon/report/document.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using test::changed;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string oops =
    "BUG: kernel NULL pointer dereference, address: 0000000000000008\n"
    "(before) random: crng init done\n"
    "#PF: supervisor write access in kernel mode\n"
    "PGD 0 P4D 0\n"
    "Oops: 0002 [#1] SMP\n"
    "RIP: 0010:free_ipc_ns+0x24/0x90\n"
    "Code: 00 00 0f 1f 44 00 00\n"
    "RSP: 0018:ffffc90000013e30 EFLAGS: 00010246\n"
    "RAX: 0000000000000000 RBX: ffff888003a2f000 RCX: 0000000000000000\n"
    "CR2: 0000000000000008 CR3: 0000000003a4e000\n"
    "Call Trace:\n"
    " <TASK>\n"
    " put_ipc_ns+0x1b/0x90\n"
    " </TASK>\n"
    "Kernel panic - not syncing: Fatal exception";

const std::string console = "01KDXF00010000000000000000/01KDXF00010000000000000001.console";

store::FailedBootRow crash(const std::string& arm, std::int64_t block) {
    return {arm,
            "kernel-crash",
            "BUG: kernel NULL pointer dereference, address: 0000000000000008",
            console,
            "oops",
            "fatal",
            "BUG: kernel NULL pointer dereference, address: X in free_ipc_ns",
            oops,
            block,
            412};
}

store::FailedBootRow silent(const std::string& arm, std::int64_t block, int run) {
    return {arm,
            "kernel-crash",
            fmt::format("the guest reset without a word in run {} of 8", run),
            console,
            "",
            "",
            "",
            "",
            block,
            0};
}

ReportInput with_failed(std::vector<store::FailedBootRow> rows) {
    return changed({}, [&](ReportInput& report) { report.failed = std::move(rows); });
}

std::size_t place(const std::string& text, const std::string& what) {
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return at;
}

TEST(Faults, ACrashIsToldBeforeTheSetupWithItsTraceItsSignatureAndItsConsole) {
    const auto report = with_failed({crash("deferred-free", 2), crash("deferred-free", 4)});
    const auto text = render_text(report);
    EXPECT_LT(place(text, "\nFailed boots\n"), place(text, "\nSetup\n"));
    EXPECT_THAT(text, HasSubstr("\ndeferred-free: kernel-crash in 2 boots, first in block 2: BUG: kernel NULL\n"
                                "pointer dereference, address: 0000000000000008\n"));
    EXPECT_THAT(text, HasSubstr("\nsignature  BUG: kernel NULL pointer dereference, address: X in free_ipc_ns\n"
                                "           (oops, fatal; from line 412 of the console)\n"));
    EXPECT_THAT(text, HasSubstr("\nconsole " + console + "\n")) << "the path in one piece";
    EXPECT_THAT(text, HasSubstr("\n    RIP: 0010:free_ipc_ns+0x24/0x90\n    Call Trace:\n     <TASK>\n"
                                "     put_ipc_ns+0x1b/0x90\n"));
    for (const char* noise : {"RAX: ", "Code: ", "CR2: ", "PGD 0", "(before)"})
        EXPECT_THAT(text, Not(HasSubstr(noise)));
    EXPECT_THAT(render_markdown(report), HasSubstr("```\nBUG: kernel NULL pointer dereference, address: 0000"));
}

TEST(Faults, AnEvaluationWithoutFailedBootsHasNoSuchSection) {
    EXPECT_THAT(render_text(with_failed({})), Not(HasSubstr("Failed boots")));
}

TEST(Faults, OneEntryIsOneCauseOfOneArm) {
    auto other = crash("deferred-free", 3);
    other.signature = "kernel BUG at ipc/namespace.c:N";
    other.kind = "bug";
    const auto report =
        with_failed({crash("deferred-free", 1), silent("deferred-free", 2, 3), other, silent("deferred-free", 5, 7),
                     crash("per-ns-work", 6), crash("deferred-free", 7), crash("per-ns-work'debug", 0)});
    std::vector<std::string> told;
    for (const auto& group : fault_groups(report))
        told.push_back(fmt::format("{} {} {}{}", group.first->arm, group.first->block, group.boots,
                                   group.in_checks ? " checks" : ""));
    EXPECT_THAT(told, ElementsAre("per-ns-work 6 1", "deferred-free 1 2", "deferred-free 2 2", "deferred-free 3 1",
                                  "per-ns-work'debug 0 1 checks"));
    const auto text = render_text(report);
    EXPECT_THAT(text, HasSubstr("deferred-free: kernel-crash in 2 boots, first in block 2: the guest reset"));
    EXPECT_THAT(text, HasSubstr("signature  none: the console tells of no fault"));
    EXPECT_THAT(text, HasSubstr("per-ns-work'debug: kernel-crash in its checks: "));
}

std::vector<int> boots_of(std::vector<store::FailedBootRow> rows) {
    const auto report = with_failed(std::move(rows));
    std::vector<int> boots;
    for (const auto& group : fault_groups(report)) boots.push_back(group.boots);
    return boots;
}

TEST(Faults, AWarningOfEveryBootIsNotTheCause) {
    const auto failed = [](std::int64_t block, const std::string& detail) {
        auto row = crash("deferred-free", block);
        row.outcome = "workload-error";
        row.kind = "warning";
        row.severity = "warning";
        row.signature = "WARNING: at ipc/namespace.c:N free_ipc_ns";
        row.detail = detail;
        return row;
    };
    EXPECT_THAT(boots_of({failed(1, "ipcns-exit: fork: Cannot allocate memory"),
                          failed(2, "ipcns-exit: a child was killed by signal 11"),
                          failed(3, "ipcns-exit: fork: Cannot allocate memory")}),
                ElementsAre(2, 1));
    auto crashed = failed(1, "the guest reset without a word in run 3 of 8");
    auto too = failed(2, "the guest reset without a word in run 7 of 8");
    auto floods = failed(3, "the kernel floods its console: more than 16 MiB in run 7 of 8");
    crashed.outcome = too.outcome = floods.outcome = "kernel-crash";
    EXPECT_THAT(boots_of({crashed, too, floods}), ElementsAre(2, 1)) << "a warning did not end them either";
}

TEST(Faults, AWorkloadsOwnNumbersTellCausesApart) {
    const auto failed = [](std::int64_t block, int number) {
        auto row = silent("deferred-free", block, 1);
        row.outcome = "workload-error";
        row.detail = fmt::format("proc-check: /proc/cpuinfo cannot be read, errno {}", number);
        return row;
    };
    EXPECT_THAT(boots_of({failed(1, 11), failed(2, 28), failed(3, 11)}), ElementsAre(2, 1));
}

TEST(Faults, ATraceIsCutAndSaysSo) {
    std::string text = "WARNING: CPU: 0 PID: 1 at a.c:1 f+0x1/0x2";
    for (int i = 0; i < 40; ++i) text += "\n f" + std::to_string(i) + "+0x1/0x2";
    const auto trace = trace_of(text, 3);
    EXPECT_THAT(trace, ElementsAre("WARNING: CPU: 0 PID: 1 at a.c:1 f+0x1/0x2", " f0+0x1/0x2", " f1+0x1/0x2",
                                   "... 38 more lines"));
    EXPECT_TRUE(trace_of("", 3).empty());
}

TEST(Faults, ManyCausesAreListedWithoutTheirTraces) {
    std::vector<store::FailedBootRow> rows;
    for (int i = 0; i < 9; ++i) {
        rows.push_back(crash("deferred-free", i + 1));
        rows.back().signature = "BUG: thing " + std::string(1, static_cast<char>('a' + i));
    }
    const auto text = render_text(with_failed(rows));
    std::size_t traces = 0;
    for (auto at = text.find("Call Trace"); at != std::string::npos; at = text.find("Call Trace", at + 1)) ++traces;
    EXPECT_EQ(traces, 6U);
    EXPECT_THAT(text, HasSubstr("\n- deferred-free: kernel-crash in 1 boot, first in block 9: "));
}

TEST(Faults, WhatAKernelPrintsIsCutAtTheWidth) {
    auto row = crash("deferred-free", 2);
    row.text = "BUG: " + std::string(300, 'x') + "\n" + std::string(100, '\t');
    std::istringstream lines(render_text(with_failed({row})));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), text_width) << line;
}

TEST(Faults, JsonHasThemWhole) {
    const auto json = parse_json(render_json(with_failed({crash("deferred-free", 2), silent("deferred-free", 3, 1)})));
    ASSERT_TRUE(json) << json.error().text();
    const auto& faults = json->at("faults");
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(faults[0].at("signature"), "BUG: kernel NULL pointer dereference, address: X in free_ipc_ns");
    EXPECT_EQ(faults[0].at("text"), oops);
    EXPECT_EQ(faults[0].at("console"), console);
    EXPECT_EQ(faults[0].at("line"), 412);
    EXPECT_TRUE(faults[1].at("signature").is_null());
    EXPECT_EQ(faults[1].at("boots"), 1);
}

}  // namespace
}  // namespace kab::report
