#!/usr/bin/env python3
"""What kab adds to a boot, beside the same kernel under a bare QEMU command.

    boot_overhead.py --kernel VMLINUX [--bin build/dev/bin] [--boots 10] [--kab-state DIR]

Boots by turns: once through kab-host with kab-agent (time from starting QEMU to the agent's hello), once with
a bare qemu-system-x86_64 command and a static init that prints one line (time from starting QEMU to that line).
Prints both medians and their ratio, and what kab-host spends before and after. With --kab-state it also reads
the attempts of an evaluation from that state directory's database and prints, per attempt, the time outside
kernel and workload with storing included: finished - dispatched - hello - work.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sqlite3
import statistics
import struct
import subprocess
import tempfile
import time

INIT = r"""
#include <unistd.h>
#include <sys/reboot.h>
int main(void) {
    static const char line[] = "KAB-BARE-HELLO\n";
    if (write(1, line, sizeof line - 1) < 0) return 1;
    reboot(RB_AUTOBOOT);
    for (;;) pause();
}
"""


class Host:
    """kab-host, spoken to over its pipe (protocol/framing.h: u32 little-endian length, JSON)."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.send({"type": "hello", "role": "kabd", "major": 1, "minor": 0})
        self.properties = self.receive()["properties"]

    def send(self, message):
        payload = json.dumps(message).encode()
        self.process.stdin.write(struct.pack("<I", len(payload)) + payload)
        self.process.stdin.flush()

    def receive(self):
        size = struct.unpack("<I", self.process.stdout.read(4))[0]
        return json.loads(self.process.stdout.read(size))

    def boot(self, number, options, console):
        run = {"seq": 1, "workload": "ipcns-exit", "point": 0, "with": {"children": 1, "concurrency": 1}, "iteration": 0}
        self.send({
            "type": "boot-request", "attempt": f"bench{number}", "kernel": str(options.kernel), "accel": "auto",
            "machine": "auto", "cpus": options.cpus, "memory_bytes": options.memory << 20,
            "boot_limit_ns": 60 * 10**9, "run_limit_ns": 60 * 10**9, "console_path": str(console),
            "plan": {"runs": [run], "drain_limit_ns": 60 * 10**9},
        })
        hello = {}
        while True:
            message = self.receive()
            if message["type"] == "boot-hello":
                hello = message
            if message["type"] == "run-finished":
                self.send({"type": "sample-ack", "attempt": message["attempt"], "seq": message["seq"]})
            if message["type"] == "boot-finished":
                if message["outcome"] != "ok":
                    raise SystemExit(f"boot failed: {message}")
                return message, hello

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def same_priority():
    """kab-host gives QEMU priority where it may (agent/host/qemu/boot_start.cpp): the bare one gets the same."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)


def bare_boot(options, initramfs, append, accel):
    cpu = ["-accel", "tcg,thread=multi", "-cpu", "max,-hypervisor"] if accel == "tcg" else ["-accel", "kvm", "-cpu", "host"]
    command = ["qemu-system-x86_64", "-machine", "microvm,acpi=off", *cpu, "-nodefaults", "-no-user-config", "-no-reboot",
               "-display", "none", "-smp", str(options.cpus), "-m", str(options.memory), "-serial", "stdio",
               "-kernel", str(options.kernel), "-initrd", str(initramfs), "-append", append]
    start = time.monotonic_ns()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=same_priority)
    took = None
    for line in process.stdout:
        if b"KAB-BARE-HELLO" in line:
            took = time.monotonic_ns() - start
    if process.wait() != 0 or took is None:
        raise SystemExit("the bare boot failed")
    return took


def make_initramfs(folder):
    source, program, archive = folder / "init.c", folder / "init", folder / "bare.cpio"
    source.write_text(INIT)
    subprocess.run(["cc", "-O2", "-static", "-s", "-o", program, source], check=True)
    data = program.read_bytes()

    def entry(name, mode, content=b"", major=0, minor=0):
        fields = [1, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + name.encode() + b"\0"
        head += b"\0" * (-len(head) % 4)
        return head + content + b"\0" * (-len(content) % 4)

    archive.write_bytes(entry("dev", 0o040755) + entry("dev/console", 0o020600, b"", 5, 1)
                        + entry("init", 0o100755, data) + entry("TRAILER!!!", 0))
    return archive


def median_line(name, values):
    values = [v / 1e6 for v in values]
    return f"{name:34} {statistics.median(values):8.1f} ms   (min {min(values):.1f}, max {max(values):.1f}, n {len(values)})"


def compare(options):
    with tempfile.TemporaryDirectory(prefix="kab-bench-") as name:
        folder = pathlib.Path(name)
        initramfs = make_initramfs(folder)
        host = Host(options.bin / "kab-host")
        _, hello = host.boot(0, options, folder / "console0")  # warms the page cache, and tells the command line
        append = " ".join(w for w in hello["agent"]["command_line"].split() if not w.startswith("kab.") and "virtio_mmio" not in w)
        bare_boot(options, initramfs, append, hello["accel"])
        kab, bare, around = [], [], []
        for i in range(1, options.boots + 1):
            bare.append(bare_boot(options, initramfs, append, hello["accel"]))
            finished, _ = host.boot(i, options, folder / f"console{i}")
            kab.append(finished["hello_ns"])
            around.append(finished["setup_ns"] + finished["teardown_ns"])
        host.close()
    print(f"kernel {options.kernel}, {hello['accel']}, {hello['emulator']}, {options.cpus} CPUs, by turns")
    print(median_line("bare QEMU to the init's line", bare))
    print(median_line("kab: QEMU to the agent's hello", kab))
    print(f"{'ratio of medians':34} {statistics.median(kab) / statistics.median(bare):8.3f}      (bound 1.15)")
    print(median_line("kab-host before and after", around))


def stored(state):
    with sqlite3.connect(f"file:{state / 'kab.db'}?mode=ro", uri=True) as database:
        rows = database.execute(
            "select finished_at - dispatched_at - hello_ns - work_ns from attempt where outcome = 'ok'").fetchall()
    print(median_line("boot outside kernel and workload", [row[0] for row in rows]) + "   (bound 300 ms)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=pathlib.Path, required=True, help="a vmlinux with PVH, as kab builds it")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/dev/bin"))
    parser.add_argument("--boots", type=int, default=10)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--memory", type=int, default=256, help="MiB")
    parser.add_argument("--kab-state", type=pathlib.Path, help="state directory of an evaluation")
    options = parser.parse_args()
    compare(options)
    if options.kab_state:
        stored(options.kab_state)


if __name__ == "__main__":
    main()
