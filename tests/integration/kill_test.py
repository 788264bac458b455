"""kabd and its host killed at random moments of evaluations on a simulated host (fake_host.py), and the pipe between
them cut: at the end there are exactly the planned samples, none double, and the same verdict as undisturbed.

KAB_KILLS=N (default 20): kills of each kind. KAB_KILL_SEED=N: the random moments; printed."""

import collections
import contextlib
import fcntl
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import time
import unittest

import fake_guest as guest
from kab_env import BIN, Kab, alive, wait_until

KILLS = int(os.environ.get("KAB_KILLS", "20"))
SEED = int(os.environ.get("KAB_KILL_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
ARMS = ("base", "patched", "patched-2")
BLOCKS, ITERATIONS, WARMUP, COUNTED = 6, 2, 1, 1
KILLS_AN_EVALUATION = 25


def kernel_image(text):
    """A guest's ELF file with what kab-build reads of a kernel: a section of code."""
    elf = bytearray(guest.build(guest.MICROVM_DRIVERS, guest.console(text), guest.RESET))
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


class SimulatedKab(Kab):
    """A kabd of its own that boots on fake_host.py, with kernels that nobody boots."""

    def __init__(self):
        super().__init__()
        self.libexec = self.directory / "libexec"
        self.libexec.mkdir()
        shutil.copy(pathlib.Path(__file__).with_name("fake_host.py"), self.libexec / "kab-host")
        (self.libexec / "kab-host").chmod(0o755)
        self.env.update(
            KAB_LIBEXEC_DIR=str(self.libexec),
            KAB_CACHE_DIR=str(self.directory / "cache"),
            KAB_MACHINE_LOCK=str(self.directory / "machine.lock"),
        )
        for arm in ARMS:
            (self.directory / f"{arm}.vmlinux").write_bytes(kernel_image(arm))
        self.log = open(self.directory / "kabd.log", "ab")
        self.daemon = None

    def close(self):
        self.end()
        self.log.close()
        super().close()

    def start_daemon(self):
        self.daemon = subprocess.Popen([BIN / "kabd", "--private", "--idle", "600"], env=self.env,
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
        arms = "".join(f"  {arm}: {{source: {{image: {arm}.vmlinux}}}}\n" for arm in ARMS)
        return self.write(f"{name}.yaml", (
            f"experiment: {name}\narms:\n{arms}"
            "workloads:\n  - workload: ipcns-exit\n    with: {children: 8}\n"
            f"    iterations: {ITERATIONS}\n    warmup: {WARMUP}\n"
            f"    counters: [task-clock]\n    counter_iterations: {COUNTED}\n"
            f"decide: {{primary: ipcns-exit/elapsed, margin: 5%, fixed: {BLOCKS}, seed: 11}}\n"))

    def submit(self, name):
        done = self.run("submit", self.spec(name))
        assert done.returncode == 0, done.stderr
        return next(word for word in done.stdout.split() if len(word) == 26)

    def rows(self, sql, *values):
        with contextlib.closing(sqlite3.connect(f"file:{self.state / 'kab.db'}?mode=ro", uri=True)) as database:
            return database.execute(sql, values).fetchall()

    def ended(self, uid):
        status = self.rows("select status from evaluation where uid = ?", uid)[0][0]
        return status in ("done", "failed", "cancelled")

    def finish(self, uid):
        wait_until(lambda: self.ended(uid), 300, "the evaluation ends")

    def host(self):
        """The pid of the fake host, once it is there."""
        found = [pid for pid, command in processes_of(self.daemon.pid).items() if command.endswith("kab-host ")]
        return found[0] if found else None

    def result(self, uid):
        """Everything that must not depend on what went wrong."""
        samples = self.rows("select block, arm, workload, point, seq, iteration, warmup, kind, metric, value from v_sample "
                            "where evaluation = ? order by 1, 2, 3, 4, 5, 9", uid)
        verdicts = self.rows("select look, arm, metric, point, n, estimate, low, high, p, verdict from v_comparison "
                             "where evaluation = ? order by 1, 2, 3, 4", uid)
        return self.rows("select status, verdict, detail from evaluation where uid = ?", uid), samples, verdicts


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


class Kills(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"KAB_KILL_SEED={SEED} KAB_KILLS={KILLS}", flush=True)
        kab = SimulatedKab()
        try:
            kab.start_daemon()
            kab.await_daemon()
            uid = kab.submit("sim")
            kab.finish(uid)
            cls.undisturbed = kab.result(uid)
        finally:
            kab.close()
        status, samples, _ = cls.undisturbed
        assert status[0][:2] == ("done", "improved"), status
        runs = {"timed": (ITERATIONS + WARMUP) * 2, "counted": COUNTED * 4}
        counts = collections.Counter(row[7] for row in samples)
        assert counts == {kind: n * BLOCKS * (len(ARMS) + 1) for kind, n in runs.items()}, counts

    def setUp(self):
        self.kab = SimulatedKab()
        self.addCleanup(self.kab.close)
        self.random = random.Random(f"{SEED}/{self.id()}")
        self.kills = 0
        self.evaluations = 0

    def check(self, uid):
        self.assertEqual(self.kab.result(uid), self.undisturbed)
        double = self.kab.rows("select boot, seq, metric, count(*) from v_sample where evaluation = ? group by 1, 2, 3 "
                               "having count(*) > 1", uid)
        self.assertEqual(double, [])
        self.assertEqual(self.kab.rows("pragma integrity_check"), [("ok",)])
        self.assertEqual(self.kab.rows("pragma foreign_key_check"), [])
        self.assertEqual(self.kab.rows("select count(*) from attempt where status = 'dispatched'"), [(0,)])
        self.evaluations += 1

    def told(self, what):
        attempts, lost, infra = self.kab.rows(
            "select count(*), sum(lost), sum(outcome = 'infra-error' and not lost) from attempt")[0]
        print(f"{what}: {self.kills} kills in {self.evaluations} evaluations; {attempts} attempts, {lost} lost with the "
              f"daemon, {infra} infra errors", flush=True)

    def wait(self, uid, seconds):
        """True if the evaluation ended within this time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.kab.ended(uid):
                return True
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.kab.daemon.wait(min(0.05, max(0.0, end - time.monotonic())))
                self.fail(f"kabd ended by itself: {self.kab.log_text()[-2000:]}")
        return False

    def test_a_killed_daemon_loses_nothing(self):
        while self.kills < KILLS:
            self.kab.start_daemon()
            self.kab.await_daemon()
            uid = self.kab.submit("sim")
            for _ in range(min(KILLS_AN_EVALUATION, KILLS - self.kills)):
                # One in four already while it starts.
                if self.random.random() < 0.75:
                    wait_until(lambda u=uid: self.kab.host() or self.kab.ended(u), 60, "the host is there")
                if self.wait(uid, self.random.uniform(0, 0.35)):
                    break
                host = self.kab.host()
                self.kab.kill()
                self.kills += 1
                if host:
                    wait_until(lambda pid=host: not alive(pid), 10, "the host ends with its daemon")
                self.kab.start_daemon()
            self.kab.finish(uid)
            self.check(uid)
            self.kab.end()
        self.told("SIGKILL of kabd")

    def test_a_lock_that_outlives_its_daemon_for_a_moment_is_waited_for(self):
        """As when kabd is killed while it starts a program: until the exec that one has the lock."""
        self.kab.state.mkdir()
        lock = open(self.kab.state / "kabd.lock", "w")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.kab.start_daemon()
        wait_until(lambda: "is held: waiting" in self.kab.log_text(), 30, "kabd has met the lock")
        fcntl.flock(lock, fcntl.LOCK_UN)
        self.kab.await_daemon()

    def disturb_host(self, disturb):
        """A boot bears six infra errors: no more than one in each boot."""
        self.kab.start_daemon()
        self.kab.await_daemon()
        while self.kills < KILLS:
            uid = self.kab.submit("sim")
            booted = -1
            while self.kills < KILLS and not self.wait(uid, self.random.uniform(0, 0.3)):
                boots = self.kab.rows("select count(*) from boot where status = 'done'")[0][0]
                host = self.kab.host()
                if boots == booted or not host:
                    continue
                booted = boots
                with contextlib.suppress(ProcessLookupError):
                    disturb(host)
                self.kills += 1
                wait_until(lambda pid=host: not alive(pid), 30, "kabd ends a host it cannot speak with")
            self.kab.finish(uid)
            self.check(uid)

    def test_a_killed_host_loses_nothing(self):
        self.disturb_host(lambda pid: os.kill(pid, signal.SIGKILL))
        self.told("SIGKILL of kab-host")

    def test_a_cut_pipe_loses_nothing(self):
        self.disturb_host(lambda pid: os.kill(pid, signal.SIGUSR1))
        self.told("pipe cut")


if __name__ == "__main__":
    unittest.main(verbosity=2)
