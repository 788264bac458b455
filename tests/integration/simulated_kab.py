"""A kabd of its own on kernels that nobody boots (fake_host.py), and what an evaluation came to."""

import contextlib
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess

import fake_guest as guest
from kab_env import BIN, Kab, wait_until


def with_section(elf):
    """A guest's ELF file with what kab-build reads of a kernel: a section of code."""
    elf = bytearray(elf)
    names = b"\0.text\0.shstrtab\0"
    code, table = (guest.CODE, len(elf) - guest.CODE), (len(elf), len(names))
    elf += names
    elf += b"\0" * (-len(elf) % 8)
    at = len(elf)
    elf += bytes(64)
    elf += struct.pack("<IIQQQQIIQQ", 1, 1, 6, guest.BASE + guest.CODE, *code, 0, 0, 16, 0)
    elf += struct.pack("<IIQQQQIIQQ", 7, 3, 0, 0, *table, 0, 0, 1, 0)
    struct.pack_into("<Q", elf, 40, at)
    struct.pack_into("<HHH", elf, 58, 64, 3, 2)
    return bytes(elf)


def kernel_image(text):
    return with_section(guest.build(guest.MICROVM_DRIVERS, guest.console(text), guest.RESET))


def processes_of(parent):
    """{pid: command} of the children of a process."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


class SimulatedKab(Kab):
    """`arms`: names, the first is the baseline; `iterations`, `warmup`, `counted`: of each point of a boot; `children`: its
    points; `decide`: the margin, how many blocks, and when they are looked at. `kernels`: arm -> image; boots them by the
    real kab-host where given."""

    def __init__(self, arms, decide, iterations=1, warmup=0, counted=1, kernels=None, children=(8,)):
        super().__init__()
        self.arms, self.decide, self.children = arms, decide, children
        self.iterations, self.warmup, self.counted = iterations, warmup, counted
        self.env.update(
            KAB_CACHE_DIR=str(self.directory / "cache"),
            KAB_MACHINE_LOCK=str(self.directory / "machine.lock"),
        )
        if not kernels:
            self.libexec = self.directory / "libexec"
            self.libexec.mkdir()
            shutil.copy(pathlib.Path(__file__).with_name("fake_host.py"), self.libexec / "kab-host")
            (self.libexec / "kab-host").chmod(0o755)
            (self.libexec / "kab-agent").write_bytes(b"an agent that nobody starts")
            self.env["KAB_LIBEXEC_DIR"] = str(self.libexec)
        for arm in arms:
            (self.directory / f"{arm}.vmlinux").write_bytes(kernels[arm] if kernels else kernel_image(arm))
        self.log = open(self.directory / "kabd.log", "ab")
        self.daemon = None

    def close(self):
        self.end()
        self.log.close()
        super().close()

    def start_daemon(self, **env):
        self.daemon = subprocess.Popen([BIN / "kabd", "--private", "--idle", "600"], env={**self.env, **env},
                                       stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def log_text(self):
        return (self.directory / "kabd.log").read_text()

    def await_daemon(self):
        wait_until(lambda: self.run("version").stdout.count("kabd") and (self.state / "kabd.sock").exists(), 30, "kabd is up")

    def kill(self):
        self.daemon.kill()
        self.daemon.wait()

    def end(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            self.daemon.wait(30)

    def spec(self, name):
        arms = "".join(f"  {arm}: {{source: {{image: {arm}.vmlinux}}}}\n" for arm in self.arms)
        counters = f"    counters: [task-clock]\n    counter_iterations: {self.counted}\n" if self.counted else ""
        points = f"sweep: {{children: {list(self.children)}}}" if len(self.children) > 1 else f"with: {{children: {self.children[0]}}}"
        return self.write(f"{name}.yaml", (
            f"experiment: {name}\narms:\n{arms}"
            "host: {cpus: 1, memory: 64M}\n"
            f"workloads:\n  - workload: ipcns-exit\n    {points}\n"
            f"    iterations: {self.iterations}\n    warmup: {self.warmup}\n{counters}"
            f"decide: {{primary: ipcns-exit/elapsed, {self.decide}, seed: 11}}\n"))

    def submit(self, name="sim"):
        done = self.run("submit", self.spec(name))
        assert done.returncode == 0, done.stderr
        return next(word for word in done.stdout.split() if len(word) == 26)

    def rows(self, sql, *values):
        with contextlib.closing(sqlite3.connect(f"file:{self.state / 'kab.db'}?mode=ro", uri=True)) as database:
            return database.execute(sql, values).fetchall()

    def status(self, uid):
        return self.rows("select status from evaluation where uid = ?", uid)[0][0]

    def ended(self, uid):
        return self.status(uid) in ("done", "failed", "cancelled")

    def finish(self, uid):
        wait_until(lambda: self.ended(uid), 300, "the evaluation ends")

    def host(self):
        """The pid of the host, once it is there."""
        found = [pid for pid, command in processes_of(self.daemon.pid).items() if command.endswith("kab-host ")]
        return found[0] if found else None

    def samples_by_kind(self, uid):
        return dict(self.rows("select kind, count(*) from v_sample where evaluation = ? group by 1", uid))

    def planned(self, blocks):
        """samples_by_kind() of so many blocks: timed runs have two metrics here, counted ones four."""
        boots = blocks * (len(self.arms) + 1) * len(self.children)  # and A'
        counts = {"timed": (self.iterations + self.warmup) * 2 * boots, "counted": self.counted * 4 * boots}
        return {kind: n for kind, n in counts.items() if n}

    def result(self, uid):
        """Everything that must not depend on what went wrong."""
        samples = self.rows("select block, arm, workload, point, seq, iteration, warmup, kind, metric, value from v_sample "
                            "where evaluation = ? order by 1, 2, 3, 4, 5, 9", uid)
        verdicts = self.rows("select look, arm, metric, point, n, estimate, low, high, p, verdict from v_comparison "
                             "where evaluation = ? order by 1, 2, 3, 4", uid)
        return self.rows("select status, verdict, detail from evaluation where uid = ?", uid), samples, verdicts

    def flaws(self):
        """What must never be in a database whose daemon has nothing to do; empty when all is well."""
        found = self.rows("select boot, seq, metric, count(*) from v_sample group by 1, 2, 3 having count(*) > 1")
        found += [row for row in self.rows("pragma integrity_check") if row != ("ok",)]
        found += self.rows("pragma foreign_key_check")
        found += self.rows("select uid, status from attempt where status = 'dispatched'")
        return found
