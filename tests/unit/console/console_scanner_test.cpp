// Lines as kernels print them, and what the scanner makes of them.
#include "agent/host/console/console_scanner.h"

#include <gtest/gtest.h>

#include "agent/host/console/console_patterns.h"
#include "agent/host/console/needles.h"
#include "agent/host/console/printable.h"
#include "tests/unit/console/scan.h"

namespace kab {
namespace {

struct Expectation {
    const char* line;
    const char* kind;  ///< "" when the line is no fault
    const char* severity;
    const char* signature;
};

class LineTest : public testing::TestWithParam<Expectation> {};

TEST_P(LineTest, is_named) {
    const auto& expected = GetParam();
    const auto events = scan(std::string("[    1.000000] ordinary\n") + expected.line + "\n");
    if (*expected.kind == '\0') {
        ASSERT_TRUE(events.empty()) << events[0].kind << ": " << events[0].signature;
        return;
    }
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, expected.kind);
    EXPECT_EQ(events[0].severity, expected.severity);
    EXPECT_EQ(events[0].signature, expected.signature);
    EXPECT_EQ(events[0].line, 2);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, LineTest,
    testing::Values(
        Expectation{"[   12.345678] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)",
                    "panic", "fatal", "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(N,N)"},
        Expectation{"<0>[   12.345678][    T1] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009",
                    "panic", "fatal", "Kernel panic - not syncing: Attempted to kill init! exitcode=X"},
        Expectation{"[    0.000000] PANIC: early exception 0x0e IP 10:ffffffff81a2b3c4 error 0 cr2 0xffff888000000000",
                    "panic", "fatal", "PANIC: early exception X IP N:X error N cr2 X"},
        Expectation{"[    0.000000] -- System halted", "panic", "fatal", "-- System halted"},
        Expectation{"[   99.1] traps: PANIC: double fault, error_code: 0x0", "panic", "fatal",
                    "traps: PANIC: double fault, error_code: X"},
        Expectation{"[   10.000001] BUG: kernel NULL pointer dereference, address: 0000000000000008", "oops", "fatal",
                    "BUG: kernel NULL pointer dereference, address: X"},
        Expectation{"[   10.000001] BUG: unable to handle page fault for address: ffffc90000a3f000", "oops", "fatal",
                    "BUG: unable to handle page fault for address: X"},
        Expectation{"[   10.000001] general protection fault, probably for non-canonical address 0xdead000000000108: "
                    "0000 [#1] PREEMPT SMP",
                    "oops", "fatal",
                    "general protection fault, probably for non-canonical address X: N [#N] PREEMPT SMP"},
        Expectation{"[   10.000001] Oops: 0002 [#1] SMP", "oops", "fatal", "Oops: N [#N] SMP"},
        Expectation{"[   10.000001] divide error: 0000 [#1] SMP NOPTI", "oops", "fatal",
                    "divide error: N [#N] SMP NOPTI"},
        Expectation{"[    4.5] BUG: stack guard page was hit at 00000000c1b2a3d4 (stack is 00000000a..0000000b)",
                    "oops", "fatal", "BUG: stack guard page was hit at X (stack is X..X)"},
        Expectation{"[    7.25] kernel BUG at mm/slub.c:305!", "bug", "error", "kernel BUG at mm/slub.c:N"},
        Expectation{"[    7.25] BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580",
                    "bug", "error", "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:N"},
        Expectation{"[    7.25] BUG: scheduling while atomic: kworker/1:2/1234/0x00000002", "bug", "error",
                    "BUG: scheduling while atomic: kworker/N:N/N/X"},
        Expectation{"[    7.25] BUG: using smp_processor_id() in preemptible [00000000] code: bash/321", "bug", "error",
                    "BUG: using smp_processor_id() in preemptible [X] code: bash/N"},
        Expectation{"[    7.25] BUG: Bad rss-counter state mm:00000000f2d4c1b0 type:MM_ANONPAGES val:3", "bug", "error",
                    "BUG: Bad rss-counter state mm:X type:MM_ANONPAGES val:N"},
        Expectation{"[    7.25] BUG: Dentry 000000003a5b{i=2,n=x}  still in use (1) [unmount of tmpfs tmpfs]", "bug",
                    "error", "BUG: Dentry X{i=N,n=x} still in use (N) [unmount of tmpfs tmpfs]"},
        Expectation{"[    3.5] WARNING: CPU: 1 PID: 77 at kernel/workqueue.c:1433 __queue_work+0x3a1/0x480", "warning",
                    "warning", "WARNING: CPU: N PID: N at kernel/workqueue.c:N __queue_work"},
        Expectation{"[    3.5] WARNING: drivers/tty/serial/8250/8250_core.c:12 at serial8250_init+0x10/0x20", "warning",
                    "warning", "WARNING: drivers/tty/serial/8250/8250_core.c:N at serial8250_init"},
        Expectation{"[    3.5] refcount_t: underflow; use-after-free.", "warning", "warning",
                    "refcount_t: underflow; use-after-free."},
        Expectation{"[    3.5] irq 19: nobody cared (try booting with the \"irqpoll\" option)", "warning", "warning",
                    "irq N: nobody cared (try booting with the \"irqpoll\" option)"},
        Expectation{"[   48.0] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [ipcns:412]", "lockup", "error",
                    "watchdog: BUG: soft lockup - CPU#N stuck for Ns! [ipcns:N]"},
        Expectation{"[   48.0] NMI watchdog: Watchdog detected hard LOCKUP on cpu 0", "lockup", "error",
                    "NMI watchdog: Watchdog detected hard LOCKUP on cpu N"},
        Expectation{"[   48.0] BUG: workqueue lockup - pool cpus=1 node=0 flags=0x0 nice=0 stuck for 30s!", "lockup",
                    "error", "BUG: workqueue lockup - pool cpus=N node=N flags=X nice=N stuck for Ns"},
        Expectation{"[  242.6] INFO: task kworker/0:1:12 blocked for more than 120 seconds.", "hung-task", "error",
                    "INFO: task kworker/N:N:N blocked for more than N seconds."},
        Expectation{"[  242.6] INFO: task dd:99 blocked in I/O wait for more than 120 seconds.", "hung-task", "error",
                    "INFO: task dd:N blocked in I/O wait for more than N seconds."},
        Expectation{"[   21.0] rcu: INFO: rcu_preempt self-detected stall on CPU", "rcu-stall", "error",
                    "rcu: INFO: rcu_preempt self-detected stall on CPU"},
        Expectation{"[   21.0] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:", "rcu-stall", "error",
                    "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:"},
        Expectation{"[   21.0] INFO: rcu_tasks detected stalls on tasks:", "rcu-stall", "error",
                    "INFO: rcu_tasks detected stalls on tasks:"},
        Expectation{"[    7.25] BUG kmalloc-64 (Not tainted): Poison overwritten", "bug", "error",
                    "BUG kmalloc-N (Not tainted): Poison overwritten"},
        Expectation{"[    7.25] BUG kmalloc-64 (Tainted: G    B            ): Redzone overwritten", "bug", "error",
                    "BUG kmalloc-N (Tainted: G B ): Redzone overwritten"},
        Expectation{"[    7.25] Kernel panic - not syncing: handler took too long", "panic", "fatal",
                    "Kernel panic - not syncing: handler took too long"},
        Expectation{"[   21.0] rcu: rcu_preempt kthread starved for 21003 jiffies! g1 f0x0", "rcu-stall", "error",
                    "rcu: rcu_preempt kthread starved for N jiffies! g1 f0x0"},
        Expectation{"[    2.0] WARNING: suspicious RCU usage", "rcu-stall", "error", "WARNING: suspicious RCU usage"},
        Expectation{"[    2.0] WARNING: possible circular locking dependency detected", "lockdep", "error",
                    "WARNING: possible circular locking dependency detected"},
        Expectation{"[    2.0] [ BUG: Invalid wait context ]", "lockdep", "error", "[ BUG: Invalid wait context ]"},
        Expectation{"[    2.0] WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected", "lockdep", "error",
                    "WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected"},
        Expectation{"[    2.0] BUG: KASAN: slab-use-after-free in put_ipc_ns+0x1b/0x90", "sanitizer", "error",
                    "BUG: KASAN: slab-use-after-free in put_ipc_ns"},
        Expectation{"[    2.0] UBSAN: array-index-out-of-bounds in lib/foo.c:12:3", "sanitizer", "error",
                    "UBSAN: array-index-out-of-bounds in lib/foo.c:N:N"},
        Expectation{"[    2.0] unreferenced object 0xffff8881004a2f00 (size 128):", "sanitizer", "error",
                    "unreferenced object X (size N):"},
        Expectation{"[    9.0] BUG: MAX_LOCKDEP_CHAINS too low!", "lockdep", "error",
                    "BUG: MAX_LOCKDEP_CHAINS too low"},
        Expectation{"[   60.0] ipcns-exit invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
                    "oom", "error", "ipcns-exit invoked oom-killer: gfp_mask=X(GFP_KERNEL), order=N, oom_score_adj=N"},
        Expectation{"[   60.0] swapper/0: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL)", "oom", "warning",
                    "swapper/N: page allocation failure: order:N, mode:X(GFP_KERNEL)"},
        Expectation{"[    0.9] Initramfs unpacking failed: junk in compressed archive", "boot", "error",
                    "Initramfs unpacking failed: junk in compressed archive"}));

INSTANTIATE_TEST_SUITE_P(
    NoFaults, LineTest,
    testing::Values(
        Expectation{"[    0.0] Kernel command line: console=ttyS0 panic=-1 msg=\"Kernel panic - not syncing\"", "", "",
                    ""},
        Expectation{"[    0.0] Command line: oops=panic BUG: x", "", "", ""},
        Expectation{"[    1.0] INFO: lockdep is turned off.", "", "", ""},
        Expectation{"[    0.8] ... MAX_LOCKDEP_SUBCLASSES:  8", "", "", ""},
        Expectation{"[    0.8] ... MAX_LOCK_DEPTH:          48", "", "", ""},
        Expectation{"[    1.0] INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.234 msecs", "", "",
                    ""},
        Expectation{"[    1.0] ODEBUG: selftest passed", "", "", ""},
        Expectation{"[    1.0] rcu: INFO: Stall ended before state dump start", "", "", ""},
        Expectation{"[    1.0] WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible", "", "", ""},
        Expectation{"[    1.0] DEBUG: kernel BUG a lot of text", "", "", ""},
        Expectation{"[    1.0] MY_INFO: task x blocked for more than 5 seconds", "", "", ""},
        Expectation{"[    1.0] BUG: KASAN: slab-out-of-bounds in kmalloc_oob_right+0x1/0x2 [kasan_test]", "", "", ""},
        Expectation{"[    1.0] traps: a.out[123] general protection fault ip:401126 sp:7ffc error:0 in a.out", "", "",
                    ""},
        Expectation{"[    1.0] traps: a.out[123] trap divide error ip:401126 sp:7ffc error:0 in a.out", "", "", ""},
        Expectation{"[    1.0] APIC timer disabled due to verification failure", "", "", ""},
        Expectation{"[    1.0] RAS: Correctable Errors collector initialized.", "", "", ""},
        Expectation{"kab-agent: ipcns-exit: BUG: unshare failed", "", "", ""},
        Expectation{"[    1.0] ACPI: [Firmware Bug]: BIOS _OSI(Linux) query ignored", "", "", ""}));

constexpr const char* null_dereference =
    "[    2.000100] BUG: kernel NULL pointer dereference, address: 0000000000000008\r\n"
    "[    2.000200] #PF: supervisor write access in kernel mode\r\n"
    "[    2.000300] #PF: error_code(0x0002) - not-present page\r\n"
    "[    2.000400] PGD 0 P4D 0 \r\n"
    "[    2.000500] Oops: 0002 [#1] PREEMPT SMP NOPTI\r\n"
    "[    2.000600] CPU: 0 PID: 71 Comm: kab-agent Not tainted 6.1.0 #1\r\n"
    "[    2.000700] RIP: 0010:free_ipc_ns+0x24/0x90\r\n"
    "[    2.000800] Code: 00 00 0f 1f\r\n"
    "[    2.000900] Call Trace:\r\n"
    "[    2.001000]  <TASK>\r\n"
    "[    2.001100]  put_ipc_ns+0x1b/0x90\r\n"
    "[    2.001200]  </TASK>\r\n"
    "[    2.001300] ---[ end trace 0000000000000000 ]---\r\n"
    "[    2.001400] RIP: 0010:free_ipc_ns+0x24/0x90\r\n"
    "[    2.001500] Kernel panic - not syncing: Fatal exception\r\n"
    "[    2.001600] Kernel Offset: disabled\r\n"
    "[    2.001700] ---[ end Kernel panic - not syncing: Fatal exception ]---\r\n";

TEST(ConsoleScanner, one_cause_has_one_label) {
    const auto events = scan(null_dereference);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "oops");
    EXPECT_EQ(events[0].severity, "fatal");
    EXPECT_EQ(events[0].signature, "BUG: kernel NULL pointer dereference, address: X in free_ipc_ns");
    EXPECT_NE(events[0].text.find("put_ipc_ns"), std::string::npos) << "the context is kept";
}

TEST(ConsoleScanner, bytes_may_be_split_anywhere) {
    const std::string text = null_dereference;
    const auto whole = scan(text);
    for (std::size_t step : {1U, 2U, 7U, 64U}) {
        ConsoleScanner scanner;
        for (std::size_t at = 0; at < text.size(); at += step) scanner.push(std::string_view(text).substr(at, step));
        EXPECT_TRUE(scanner.fatal());
        const auto events = scanner.finish();
        ASSERT_EQ(events.size(), whole.size()) << step;
        EXPECT_EQ(events[0].signature, whole[0].signature);
        EXPECT_EQ(events[0].text, whole[0].text);
    }
}

TEST(ConsoleScanner, a_cut_without_a_known_word_is_a_warning) {
    const auto events = scan(
        "[ 1.1] ------------[ cut here ]------------\n"
        "[ 1.1] something odd in slot 7\n"
        "[ 1.1] ---[ end trace 0000000000000000 ]---\n");
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "warning");
    EXPECT_EQ(events[0].signature, "something odd in slot N");
}

TEST(ConsoleScanner, later_faults_are_not_taken_for_the_first) {
    const auto events = scan(
        "[ 1.1] BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580\n"
        "[ 1.1] in_atomic(): 1, irqs_disabled(): 0, non_block: 0, pid: 1, name: init\n"
        "[ 1.1] Call Trace:\n"
        "[ 1.1]  <TASK>\n"
        "[ 1.1]  dump_stack_lvl+0x34/0x48\n"
        "[ 1.1]  </TASK>\n"
        "[ 1.5] eth0: link becomes ready\n"
        "[ 1.6] random: crng init done\n"
        "[ 1.7] clocksource: Switched to clocksource tsc\n"
        "[ 9.0] INFO: task x:1 blocked for more than 120 seconds.\n"
        "[ 9.0]       Not tainted 6.1.0 #1\n"
        "[ 9.0] INFO: task y:2 blocked for more than 120 seconds.\n");
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].kind, "bug");
    EXPECT_EQ(events[1].kind, "hung-task");
}

TEST(ConsoleScanner, what_comes_after_a_pause_is_another_finding) {
    // Nothing ordinary lies between: a CPU that hangs says nothing else.
    const std::string stall =
        "[   14.2] rcu: INFO: rcu_sched self-detected stall on CPU\n"
        "[   14.2] rcu: \t0-....: (10000 ticks this GP) idle=4b7/1/0x40\n"
        "[   14.2] RIP: 0010:kab_fault_lockup+0x5/0x10\n"
        "[   14.2]  </TASK>\n";
    const std::string starved = "rcu: rcu_sched kthread starved for 2500 jiffies! g9 f0x0 RCU_GP_WAIT_FQS(5)\n";
    const std::string lockup = "watchdog: BUG: soft lockup - CPU#0 stuck for 15s! [kab-agent:72]\n";
    auto events = scan(stall + "[   14.9] " + starved + "[   20.1] " + lockup);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].kind, "rcu-stall");
    EXPECT_NE(events[0].text.find("kthread starved"), std::string::npos) << "a second word for the same";
    EXPECT_EQ(events[1].kind, "lockup");
    EXPECT_EQ(scan(stall + "[   14.9] " + lockup).size(), 1U);
    EXPECT_EQ(scan(stall + lockup).size(), 1U) << "a line without its time";

    const std::string panic = "[   1.0] Kernel panic - not syncing: boom\n";
    events = scan(panic + "[   30.1] " + lockup);
    ASSERT_EQ(events.size(), 1U) << "what a dead kernel goes on to say is no finding";
    EXPECT_EQ(events[0].kind, "panic");
    events = scan("[   1.0] Oops: 0002 [#1] SMP\n[    9.0] Kernel panic - not syncing: Fatal exception\n");
    ASSERT_EQ(events.size(), 1U) << "a panic that names its cause is that cause's";
    EXPECT_EQ(events[0].kind, "oops");
}

TEST(ConsoleScanner, a_fault_that_repeats_is_told_once) {
    std::string text;
    for (int i = 0; i < 500; ++i) {
        text += "[ " + std::to_string(i) + ".5] watchdog: BUG: soft lockup - CPU#" + std::to_string(i % 4) +
                " stuck for " + std::to_string(20 + i) + "s! [x:1]\n[ 1.0] a\n[ 1.0] b\n[ 1.0] c\n";
    }
    ConsoleScanner scanner;
    scanner.push(text);
    EXPECT_FALSE(scanner.fatal());
    EXPECT_EQ(scanner.stall_line(), "watchdog: BUG: soft lockup - CPU#0 stuck for 20s! [x:1]");
    EXPECT_EQ(scanner.finish().size(), 1U);
}

TEST(ConsoleScanner, what_it_keeps_is_bounded) {
    std::string text;
    for (int i = 0; i < 1000; ++i) {
        text += "[ 1.0] WARNING: CPU: 0 PID: 1 at a/f" + std::string(1, static_cast<char>('a' + i % 26)) +
                std::string(static_cast<std::size_t>(i / 26 + 1), 'x') +
                ".c:1 f+0x1/0x2\n[ 1.0] a\n[ 1.0] b\n[ 1.0] c\n";
    }
    text += std::string(10'000'000, 'z');
    const auto events = scan(text);
    EXPECT_EQ(events.size(), ConsoleScanner::most_events - 1) << "the last place is for what is fatal";
    for (const auto& event : events) EXPECT_LT(event.text.size(), 20'000U);
}

TEST(ConsoleScanner, there_is_a_place_for_what_is_fatal) {
    std::string text;
    for (int i = 0; i < 200; ++i) {
        const std::string name = {static_cast<char>('a' + i / 26), static_cast<char>('a' + i % 26)};
        text += "[ 1.0] BUG: thing " + name + "\n";
        for (int line = 0; line < 24; ++line) text += " " + std::string(500, '\xff') + "\n";
        text += "[ 1.0] a\n[ 1.0] b\n[ 1.0] c\n";
    }
    const auto events = scan(text + "[ 2.0] Kernel panic - not syncing: boom\n");
    EXPECT_EQ(events.back().kind, "panic");
    EXPECT_EQ(events.back().severity, "fatal");
    std::size_t bytes = 0;
    for (const auto& event : events) bytes += event.text.size() + event.signature.size();
    EXPECT_LE(bytes, ConsoleScanner::most_text);
    EXPECT_GT(bytes, ConsoleScanner::most_text / 2);
    EXPECT_EQ(events[0].text.find('\xff'), std::string::npos) << "what is no text is not passed on";
    std::string many;
    for (int i = 0; i < 200; ++i) {
        many += "[ 1.0] BUG: " + std::string(1, static_cast<char>('a' + i % 26)) +
                std::string(static_cast<std::size_t>(i / 26 + 1), 'x') + "\n[ 1.0] a\n[ 1.0] b\n[ 1.0] c\n";
    }
    EXPECT_EQ(scan(many).size(), ConsoleScanner::most_events - 1);
    const auto last = scan(many + "[ 2.0] Kernel panic - not syncing: boom\n");
    EXPECT_EQ(last.size(), ConsoleScanner::most_events);
    EXPECT_EQ(last.back().kind, "panic");
}

TEST(ConsoleScanner, a_panic_means_what_it_says_wherever_it_is) {
    for (const char* before : {"[ 1.0] ====[ backtrace testing ]===========\n",
                               "[ 1.0] BUG: KASAN: slab-out-of-bounds in kmalloc_oob_right+0x1/0x2 [kasan_test]\n",
                               "[ 1.0] ------------[ cut here ]------------\n"}) {
        ConsoleScanner scanner;
        scanner.push(std::string(before) + "[ 1.1] Kernel panic - not syncing: x\n");
        EXPECT_TRUE(scanner.fatal()) << before;
        const auto events = scanner.finish();
        ASSERT_EQ(events.size(), 1U) << before;
        EXPECT_EQ(events[0].kind, "panic");
    }
}

TEST(ConsoleScanner, last_words_are_kept) {
    ConsoleScanner scanner;
    scanner.push("[ 1.0] x invoked oom-killer: gfp_mask=0x1\nkab-agent: no \x01 channel\n[ 2.0] reboot: \xff\n");
    EXPECT_EQ(scanner.memory_line(), "x invoked oom-killer: gfp_mask=0x1");
    scanner.push("[ 2.0] Out of memory: Killed process 17 (init)\n[ 2.1] Out of memory: Killed process 18 (init)\n");
    EXPECT_EQ(scanner.memory_line(), "Out of memory: Killed process 17 (init)");
    EXPECT_EQ(scanner.last_agent_line(), "kab-agent: no ? channel");
    scanner.push("[ 3.0] reboot: \xff\n");
    EXPECT_EQ(scanner.last_line(), "reboot: ?");
}

TEST(Printable, is_valid_utf8_without_control_characters) {
    EXPECT_EQ(printable("a\tb\x1b\x7f"), "a\tb??");
    EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    EXPECT_EQ(printable("\xc3"), "?") << "cut within a character";
    EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xff"), "??????????");
    EXPECT_EQ(cut_to("gr\xc3\xbc", 3), "gr");
    EXPECT_EQ(cut_to("gr\xc3\xbc", 4), "gr\xc3\xbc");
}

TEST(ConsoleScanner, a_second_banner_is_a_silent_reboot) {
    const std::string first = "[    0.000000] Linux version 6.1.192 (kab@kab) #1 SMP\n";
    ConsoleScanner scanner;
    scanner.push(first + "[    0.1] fine\n" + first);
    EXPECT_FALSE(scanner.fatal()) << "a console that registers late replays the log";
    scanner.push("SeaBIOS (version 1.16.2-debian-1.16.2-1)\n");
    EXPECT_TRUE(scanner.fatal());
    const auto events = scanner.finish();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "boot");
    EXPECT_TRUE(scan("SeaBIOS (version 1.16.2)\n" + first).empty()) << "firmware comes before the first kernel";
}

TEST(ConsoleScanner, backtrace_tests_are_no_faults) {
    EXPECT_TRUE(scan("[ 1.0] ====[ backtrace testing ]===========\n"
                     "[ 1.0] BUG: this is only a test\n"
                     "[ 1.0] ====[ end of backtrace testing ]====\n")
                    .empty());
}

TEST(ConsoleScanner, test_modules_produce_whole_reports_that_mean_nothing) {
    const auto events = scan(
        "[ 1.0] BUG: KASAN: slab-out-of-bounds in kmalloc_oob_right+0x1/0x2 [kasan_test]\n"
        "[ 1.0] Call Trace:\n"
        "[ 1.0] BUG: sleeping function called from invalid context at mm/x.c:1\n"
        "[ 1.0] ---[ end trace 0 ]---\n");
    EXPECT_TRUE(events.empty());
}

TEST(ConsoleScanner, an_oops_within_a_report_that_means_nothing_is_one) {
    ConsoleScanner scanner;
    scanner.push(
        "[ 1.0] BUG: KASAN: slab-out-of-bounds in kmalloc_oob_right+0x1/0x2 [kasan_test]\n"
        "[ 1.0] Call Trace:\n"
        "[ 1.0] BUG: unable to handle page fault for address: ffff\n");
    EXPECT_EQ(scanner.fatal_line(), "BUG: unable to handle page fault for address: ffff") << "before any panic";
    const auto events = scanner.finish();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "oops");
}

TEST(ConsoleScanner, timers_that_do_not_work_are_noted) {
    ConsoleScanner scanner;
    scanner.push("[    0.41] APIC timer disabled due to verification failure\n[    0.5] x\n");
    EXPECT_EQ(scanner.timer_line(), "APIC timer disabled due to verification failure");
    EXPECT_EQ(scanner.last_line(), "x");
    EXPECT_TRUE(scanner.finish().empty());
}

TEST(ConsoleScanner, control_characters_do_not_get_through) {
    const auto events = scan("[ 1.0] BUG: \x1b[31mred\x01\n");
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].text.find_first_of("\x1b\x01"), std::string::npos);
}

TEST(ConsolePrefix, only_the_kernels_own_is_taken_off) {
    EXPECT_EQ(strip_console_prefix("<6>[    1.234567][   T12] hello\r"), "hello");
    EXPECT_EQ(strip_console_prefix("[    1.234567] [    C0] hello"), "hello");
    EXPECT_EQ(strip_console_prefix("[    1.234567]  <TASK>"), " <TASK>");
    EXPECT_EQ(strip_console_prefix("<4>[    T1] hello"), "hello");
    EXPECT_EQ(strip_console_prefix("[    C0]  <TASK>"), " <TASK>");
    EXPECT_EQ(strip_console_prefix(" [    T1] hello"), " [    T1] hello");
    EXPECT_EQ(strip_console_prefix("[    T1]"), "");
    EXPECT_EQ(strip_console_prefix("[ BUG: Invalid wait context ]"), "[ BUG: Invalid wait context ]");
    EXPECT_EQ(strip_console_prefix("[drm] x"), "[drm] x");
    EXPECT_EQ(strip_console_prefix(""), "");
    EXPECT_EQ(strip_console_prefix("[    1.0]"), "");
    EXPECT_EQ(strip_console_prefix("<"), "<");
}

TEST(ConsolePrefix, has_a_time) {
    EXPECT_EQ(console_time("<6>[   12.250000][   T12] hello"), 12.25);
    EXPECT_EQ(console_time("\r[    0.000000] Linux version"), 0.0);
    for (const char* none :
         {"", "hello", "hello [    1.0]", "[drm] x", "[   T12] x", "[ 1.2", "[    .] x", "[ BUG: 1.0 ]"})
        EXPECT_FALSE(console_time(none)) << none;
}

TEST(Needles, finds_overlapping_and_nested_words) {
    const Needles needles({"he", "she", "hers", "s"});
    std::vector<std::pair<int, std::size_t>> hits;
    needles.search("ushers", [&](Needles::Hit hit) { hits.emplace_back(hit.needle, hit.at); });
    const std::vector<std::pair<int, std::size_t>> expected = {{3, 1}, {1, 1}, {0, 2}, {2, 2}, {3, 5}};
    EXPECT_EQ(hits, expected);
}

}  // namespace
}  // namespace kab
