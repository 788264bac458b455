// How fast a console is read. Run by hand: tests/console_bench (Google Benchmark's options apply). A kernel that prints
// without end is ended by a limit; until then reading it must not be what holds the host up: 50 MB/s is the bound.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

#include "agent/host/console/console_scanner.h"

namespace kab {
namespace {

constexpr std::size_t console_bytes = 8U << 20;

/// Lines of a boot, none of them a fault.
std::string quiet_boot() {
    const char* const lines[] = {
        "Linux version 6.1.170 (kab@host) (gcc (Debian 12.2.0-14) 12.2.0, GNU ld 2.40) #1 SMP PREEMPT_DYNAMIC",
        "x86/fpu: Supporting XSAVE feature 0x001: 'x87 floating point registers'",
        "BIOS-e820: [mem 0x0000000000100000-0x000000001fffffff] usable",
        "rcu: Hierarchical RCU implementation.",
        "rcu: \tRCU restricting CPUs from NR_CPUS=8 to nr_cpu_ids=2.",
        "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x257a34a6eea, max_idle_ns: 440795264358 ns",
        "EXT4-fs (vda): mounted filesystem with ordered data mode. Quota mode: none.",
        "systemd[1]: Started udev Kernel Device Manager.",
        "virtio_blk virtio1: [vda] 41943040 512-byte logical blocks (21.5 GB/20.0 GiB)",
        "random: crng init done",
    };
    std::string text;
    for (int line = 0; text.size() < console_bytes; ++line)
        text += fmt::format("[{:5}.{:06}] {}\r\n", line / 1000, line % 1000 * 1000, lines[line % std::size(lines)]);
    return text;
}

/// An oops with its trace every hundred lines.
std::string faulty_boot() {
    const std::string report =
        "[   10.1] BUG: kernel NULL pointer dereference, address: 0000000000000008\r\n"
        "[   10.1] #PF: supervisor read access in kernel mode\r\n"
        "[   10.1] Oops: 0000 [#1] PREEMPT SMP NOPTI\r\n"
        "[   10.1] CPU: 1 PID: 77 Comm: kab-agent Not tainted 6.1.170 #1\r\n"
        "[   10.1] RIP: 0010:free_ipc+0x35/0x120\r\n"
        "[   10.1] Call Trace:\r\n[   10.1]  <TASK>\r\n[   10.1]  process_one_work+0x1c7/0x380\r\n"
        "[   10.1]  worker_thread+0x4d/0x380\r\n[   10.1]  </TASK>\r\n"
        "[   10.1] ---[ end trace 0000000000000000 ]---\r\n";
    const auto quiet = quiet_boot();
    std::string text;
    for (std::size_t at = 0; at < quiet.size();) {
        const auto end = std::min(quiet.size(), at + 7000);
        text += quiet.substr(at, end - at) + "\r\n" + report;
        at = end;
    }
    return text;
}

/// What a kernel writes whose console driver went wrong: any bytes, hardly a line.
std::string garbage() {
    std::mt19937_64 random(1);
    std::string text(console_bytes, '\0');
    for (auto& byte : text) byte = static_cast<char>(random());
    return text;
}

/// Words that faults begin with, in lines that are none.
std::string near_misses() {
    std::string text;
    for (int line = 0; text.size() < console_bytes; ++line)
        text += fmt::format("[{:5}.0] debug: no BUG here, no WARNING, INFO only; the panic= of Oops {} was rcu-free\n",
                            line, line % 7);
    return text;
}

void scan(benchmark::State& state, const std::string& text) {
    const auto chunk = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        ConsoleScanner scanner;
        for (std::size_t at = 0; at < text.size(); at += chunk) scanner.push(std::string_view(text).substr(at, chunk));
        benchmark::DoNotOptimize(scanner.finish());
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

BENCHMARK_CAPTURE(scan, quiet_boot, quiet_boot())->Arg(65536)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scan, faulty_boot, faulty_boot())->Arg(65536)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scan, garbage, garbage())->Arg(65536)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scan, near_misses, near_misses())->Arg(65536)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kab

BENCHMARK_MAIN();
