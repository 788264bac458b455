// Every kind of line that tells of a fault, and every one that only looks like it, each with the kind it must get.
#include "agent/host/console/console_patterns.h"

#include <gtest/gtest.h>

#include "agent/host/console/console_scanner.h"

namespace kab {
namespace {

struct Said {
    const char* kind;
    const char* severity;
    std::vector<const char*> lines;
};

const std::vector<Said> faults = {
    {"panic",
     "fatal",
     {"Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b",
      "Kernel panic - not syncing: hung_task: blocked tasks",
      "Kernel panic - not syncing: kernel: panic_on_warn set ...",
      "Kernel panic - not syncing: stack-protector: Kernel stack is corrupted in: f+0x1/0x2",
      "Kernel panic - not syncing: No working init found.  Try passing init= option to kernel.",
      "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)",
      "traps: PANIC: double fault, error_code: 0x0", "PANIC: double fault, error_code: 0x0",
      "PANIC: early exception 0x0e IP 10:ffffffff81a2b3c4 error 0 cr2 0x8", "-- System halted"}},
    {"oops",
     "fatal",
     {"Oops: 0002 [#1] PREEMPT SMP", "Oops - BUG: 0 [#1] SMP ARM",
      "BUG: unable to handle page fault for address: ffffc9", "BUG: unable to handle kernel paging request at ffffc900",
      "BUG: unable to handle kernel NULL pointer dereference at 8",
      "BUG: kernel NULL pointer dereference, address: 0000000000000008",
      "Unable to handle kernel paging request at virtual address dead000000000108",
      "8<--- cut here --- Unable to handle kernel NULL pointer dereference", "Internal error: Oops: 96000004 [#1] SMP",
      "general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP",
      "stack segment: 0000 [#1] SMP", "divide error: 0000 [#1] SMP", "invalid opcode: 0000 [#1] SMP",
      "int3: 0000 [#1] SMP", "Unhandled fault: external abort on non-linefetch (0x1008) at 0xb6f1c000",
      "Alignment trap: not handling instruction e1953f9f at [<c0114c0c>]",
      "BUG: stack guard page was hit at 00000000c1b2a3d4 (stack is 0000000a..0000000b)"}},
    {"bug",
     "error",
     {"kernel BUG at mm/slub.c:305!", "BUG: Bad page state in process kab-agent  pfn:01a2b",
      "BUG: Bad page cache in process x", "BUG: Bad page map in process x  pte:8000 pmd:1234",
      "BUG: Bad rss-counter state mm:000000 type:MM_ANONPAGES val:3",
      "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580",
      "BUG: scheduling while atomic: kworker/1:2/1234/0x00000002",
      "BUG: using smp_processor_id() in preemptible [00000000] code: sh/321",
      "BUG: using __this_cpu_read() in preemptible [00000000] code: sh/321",
      "BUG: workqueue leaked lock or atomic: kworker/0:1/0x00000001/12",
      "BUG: Dentry 000000003a5b{i=2,n=x}  still in use (1) [unmount of tmpfs tmpfs]", "BUG: something nobody listed",
      "BUG kmalloc-64 (Not tainted): Poison overwritten"}},
    {"warning",
     "warning",
     {"WARNING: CPU: 1 PID: 77 at kernel/workqueue.c:1433 __queue_work+0x3a1/0x480",
      "WARNING: kernel/workqueue.c:1433 at __queue_work+0x3a1/0x480", "refcount_t: underflow; use-after-free.",
      "irq 19: nobody cared (try booting with the \"irqpoll\" option)",
      "sysfs: cannot create duplicate filename '/class/x'", "CFI failure at f+0x12/0x40 (target: g+0x0/0x10)"}},
    {"lockup",
     "error",
     {"watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [ipcns:412]", "BUG: soft lockup - CPU#1 stuck for 26s! [x:1]",
      "NMI watchdog: Watchdog detected hard LOCKUP on cpu 0", "watchdog: Watchdog detected hard LOCKUP on cpu 0",
      "BUG: workqueue lockup - pool cpus=1 node=0 flags=0x0 nice=0 stuck for 30s!",
      "BUG: spinlock lockup suspected on CPU#0, x/1", "BUG: rwlock lockup suspected on CPU#0, x/1",
      "smp: csd: Detected non-responsive CSD lock (#1) on CPU#0, waiting 5000000032 ns for CPU#01 f+0x0/0x80(0x0)."}},
    {"hung-task",
     "error",
     {"INFO: task kworker/0:1:12 blocked for more than 120 seconds.",
      "INFO: task sync:99 blocked in I/O wait for more than 120 seconds."}},
    {"rcu-stall",
     "error",
     {"rcu: INFO: rcu_sched self-detected stall on CPU", "rcu: INFO: rcu_preempt self-detected stall on CPU { 0-... }",
      "INFO: rcu_bh self-detected stall on CPU",
      "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "INFO: rcu_tasks detected stalls on tasks:",
      "rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 1-... }",
      "rcu: rcu_sched kthread starved for 2500 jiffies! g9 f0x0 RCU_GP_WAIT_FQS(5) ->state=0x0 ->cpu=1",
      "WARNING: suspicious RCU usage"}},
    {"lockdep",
     "error",
     {"WARNING: possible circular locking dependency detected", "WARNING: possible recursive locking detected",
      "WARNING: possible irq lock inversion dependency detected",
      "WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected",
      "WARNING: SOFTIRQ-safe -> SOFTIRQ-unsafe lock order detected", "WARNING: inconsistent lock state",
      "[ BUG: Invalid wait context ]", "BUG: Invalid wait context", "WARNING: bad unlock balance detected!",
      "WARNING: held lock freed!", "WARNING: lock held when returning to user space!",
      "INFO: trying to register non-static key.", "BUG: MAX_LOCKDEP_ENTRIES too low!",
      "BUG: MAX_LOCKDEP_CHAINS too low!", "BUG: MAX_LOCK_DEPTH too low!"}},
    {"sanitizer",
     "error",
     {"BUG: KASAN: slab-use-after-free in put_ipc_ns+0x1b/0x90", "BUG: KFENCE: out-of-bounds read in f+0x1/0x2",
      "BUG: KMSAN: uninit-value in f+0x1/0x2", "BUG: KCSAN: data-race in f / g",
      "UBSAN: array-index-out-of-bounds in lib/foo.c:12:3", "unreferenced object 0xffff8881004a2f00 (size 128):",
      "ODEBUG: free active (active state 0) object type: timer_list hint: f+0x0/0x10"}},
    {"oom",
     "error",
     {"ipcns-exit invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
      "Out of memory: Killed process 17 (init) total-vm:1kB",
      "Out of memory: Kill process 17 (init) score 9 or sacrifice child", "Out of memory and no killable processes...",
      "Memory cgroup out of memory: Killed process 17 (init)"}},
    {"oom", "warning", {"swapper/0: page allocation failure: order:4, mode:0x40dc0(GFP_KERNEL)"}},
    {"boot", "error", {"Initramfs unpacking failed: junk in compressed archive"}},
};

const std::vector<const char*> innocent = {
    "INFO: lockdep is turned off.",
    "INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.234 msecs",
    "ODEBUG: selftest passed",
    "rcu: INFO: Stall ended before state dump start",
    "WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible via Spectre v2 BHB attacks!",
    "DEBUG: not one",
    "xyz_INFO: task x blocked for more than 5 seconds",
    "BUG: KASAN: slab-out-of-bounds in kmalloc_oob_right+0x1/0x2 [kasan_test]",
    "BUG: KFENCE: out-of-bounds read in test_out_of_bounds_read+0x1/0x2 [kfence_test]",
    "Command line: console=ttyS0 x=\"Kernel panic - not syncing\"",
    "Kernel command line: console=ttyS0 kab.note=BUG:",
    "Unknown kernel command line parameters \"BUG: Oops:\", will be passed to user space.",
};

std::vector<msg::ConsoleEvent> scan(const std::string& text) {
    ConsoleScanner scanner;
    scanner.push(text);
    return scanner.finish();
}

/// Everything that may stand before what a kernel says.
const std::vector<const char*> prefixes = {"",
                                           "[   12.345678] ",
                                           "<4>[   12.345678] ",
                                           "[   12.345678][  T123] ",
                                           "<0>[   12.345678][    C0] ",
                                           "\r[   12.345678] [    T1] ",
                                           "[    T1] ",
                                           "<0>[    C0] "};

TEST(ConsolePatterns, every_fault_gets_its_kind_and_severity_behind_any_prefix) {
    for (const auto& said : faults) {
        for (const std::string line : said.lines) {
            for (const std::string prefix : prefixes) {
                const auto events = scan(prefix + line + "\r\n");
                ASSERT_EQ(events.size(), 1U) << prefix << line;
                EXPECT_EQ(events[0].kind, said.kind) << prefix << line;
                EXPECT_EQ(events[0].severity, said.severity) << prefix << line;
                EXPECT_EQ(events[0].signature, normalise_signature(line)) << prefix << line;
            }
        }
    }
}

TEST(ConsolePatterns, what_takes_too_long_may_be_a_fault) {
    EXPECT_EQ(scan("BUG: KFENCE: f took too long\n").size(), 1U);
    EXPECT_EQ(scan("BUG: INFO: NMI handler (x) took too long\n").size(), 1U);
}

TEST(ConsolePatterns, what_is_no_fault_is_none_behind_any_prefix) {
    for (const std::string line : innocent)
        for (const std::string prefix : prefixes) EXPECT_TRUE(scan(prefix + line + "\n").empty()) << prefix << line;
}

TEST(ConsolePatterns, a_fault_is_found_however_its_line_is_split) {
    for (const auto& said : faults) {
        for (const std::string line : said.lines) {
            const std::string text = "[    1.0] before\n[   12.345678][  T123] " + line + "\r\n[   12.4] after\n";
            for (std::size_t at = 1; at < text.size(); ++at) {
                ConsoleScanner scanner;
                scanner.push(std::string_view(text).substr(0, at));
                scanner.push(std::string_view(text).substr(at));
                const auto events = scanner.finish();
                ASSERT_EQ(events.size(), 1U) << line << " split at " << at;
                EXPECT_EQ(events[0].kind, said.kind) << line << " split at " << at;
            }
        }
    }
}

TEST(ConsolePatterns, a_signature_is_the_same_in_every_boot) {
    const auto same = [](const char* one, const char* other) {
        EXPECT_EQ(normalise_signature(one), normalise_signature(other));
    };
    same("BUG: unable to handle page fault for address: ffffc90000a3f000",
         "BUG: unable to handle page fault for address: ffffc90000b41008");
    same("watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [ipcns:412]",
         "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [ipcns:98]");
    same("INFO: task kab-agent:412 blocked for more than 15 seconds.",
         "INFO: task kab-agent:9 blocked for more than 30 seconds.");
    same("WARNING: CPU: 1 PID: 77 at ipc/namespace.c:131 free_ipc+0x5/0x10",
         "WARNING: CPU: 0 PID: 3412 at ipc/namespace.c:129 free_ipc+0x15/0x1c");
    EXPECT_NE(normalise_signature("kernel BUG at mm/slub.c:305!"), normalise_signature("kernel BUG at mm/slab.c:305!"));
}

}  // namespace
}  // namespace kab
