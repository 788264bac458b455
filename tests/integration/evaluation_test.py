"""kab as a user has it: real kernels from Debian's source, QEMU, the agent, the store, the report."""

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import unittest

from kab_env import Kab, alive, descendants_of, small_spec, wait_until

COUNT = (
    "select arm, count(*) from v_sample where evaluation = (select uid from evaluation order by id desc limit 1) "
    "and metric = 'elapsed' and not warmup group by arm order by arm"
)


class Evaluation(unittest.TestCase):
    def setUp(self):
        self.kab = Kab()
        self.addCleanup(self.kab.close)

    def planned_counts(self, iterations, arms=("A'", "deferred-free", "inline-free")):
        """Every arm has exactly its samples: timed iterations x accepted boots, and a boot for every block.

        An emulated guest resets without a word about once in a hundred boots: such a boot is an outcome, not a hole.
        """
        blocks = int(self.kab.query("select count(*) from block where status = 'complete'")[0][0])
        self.assertGreaterEqual(blocks, 2)
        boots = self.kab.query(
            "select arm.name, boot.outcome, count(*) from boot join block on block.id = boot.block_id "
            "join arm on arm.id = boot.arm_id where block.status = 'complete' group by 1, 2"
        )
        booted = {arm: sum(int(n) for name, _, n in boots if name == arm) for arm in arms}
        self.assertEqual(booted, {arm: blocks for arm in arms})
        accepted = {name: int(n) for name, outcome, n in boots if outcome == "ok"}
        self.assertLessEqual({outcome for _, outcome, _ in boots}, {"ok", "boot-failure"})
        self.assertGreaterEqual(sum(accepted.values()), blocks * len(arms) - 2)
        got = {arm: int(n) for arm, n in self.kab.query(COUNT)}
        self.assertEqual(got, {arm: accepted[arm] * iterations for arm in arms})

    def guest_is_up(self):
        """Also true for a boot, not for the short guest that tries out KVM."""
        if not self.kab.has_results():
            return False
        up = self.kab.query("select count(*) from attempt where status = 'dispatched' and accel <> ''")
        return up[0][0] > 0 and self.kab.processes("qemu-system")

    def test_run_builds_boots_stores_and_reports(self):
        spec = self.kab.write("small.yaml", small_spec())
        done = self.kab.run("run", spec)
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        self.planned_counts(iterations=2)
        lines = done.stdout.splitlines()
        self.assertGreater(len(lines), 20)
        self.assertEqual([line for line in lines if len(line) > 78], [])
        accelerated = self.kab.query("select distinct accel from attempt where accel <> ''")
        emulated = "emulated: not evidence for hardware" in done.stdout
        self.assertEqual(emulated, accelerated != [["kvm"]], accelerated)
        self.assertIn("deferred-free", done.stdout)
        self.assertIn("ipcns-exit", done.stdout)
        self.assertNotRegex(done.stdout, r"\bnan\b|\binf\b")

        with self.subTest("the report is to be had again, in every format"):
            again = self.kab.run("report", "last")
            self.assertEqual(again.stdout, done.stdout)
            self.assertEqual(json.loads(self.kab.run("report", "last", "--format", "json").stdout)["status"], "done")
            self.assertIn("|", self.kab.run("report", "last", "--format", "markdown").stdout)
            csv = self.kab.run("report", "last", "--format", "csv").stdout.splitlines()
            self.assertGreater(len(csv), 10)
        with self.subTest("a counter that the machine has not is absent with a reason, never 0"):
            rows = self.kab.query("select value, reason from v_sample where metric = 'cycles'")
            self.assertTrue(rows)
            for value, reason in rows:
                self.assertTrue((value is None) == bool(reason), (value, reason))
        with self.subTest("the stored samples give the stored verdict, bit for bit"):
            replay = self.kab.run("report", "last", "--recompute")
            self.assertEqual(replay.returncode, 0, replay.stdout + replay.stderr)
            self.assertIn("bit for bit as stored", replay.stdout)
            explained = self.kab.run("report", "last", "--explain")
            self.assertEqual(explained.returncode, 0, explained.stderr)
            self.assertIn("counting the looks", explained.stdout)
        with self.subTest("plain sqlite3 reads the file, too"):
            with sqlite3.connect(f"file:{self.kab.state / 'kab.db'}?mode=ro", uri=True) as database:
                self.assertEqual(database.execute("pragma integrity_check").fetchone()[0], "ok")
        with self.subTest("a second run reuses every kernel"):
            done = self.kab.run("run", self.kab.write("again.yaml", small_spec("again")))
            self.assertIn(done.returncode, (0, 1, 4), done.stderr)
            self.assertEqual(self.kab.query("select count(*) from kernel")[0][0], 2)

    def test_a_killed_daemon_goes_on_where_it_was(self):
        spec = self.kab.write("small.yaml", small_spec(iterations=3))
        submitted = self.kab.run("submit", spec)
        self.assertEqual(submitted.returncode, 0, submitted.stderr)
        uid = re.search(r"[0-9A-HJKMNP-TV-Z]{26}", submitted.stdout).group(0)
        for boots in (1, 3):
            wait_until(
                lambda: int(self.kab.query("select count(*) from boot where status = 'done'")[0][0]) >= boots
                and self.kab.processes("qemu-system"),
                1200,
                "a boot is under way",
            )
            daemon = self.kab.processes("kabd")[0]
            children = self.kab.processes("qemu-system") + self.kab.processes("kab-host")
            os.kill(daemon, signal.SIGKILL)
            wait_until(lambda: not any(alive(pid) for pid in children), 10, "QEMU and kab-host die with their daemon")
            self.assertEqual(self.kab.run("list").returncode, 0)
            self.assertEqual(self.kab.processes("kabd"), [], "reading needs no daemon")
            watcher = self.kab.start("watch", uid)
            wait_until(lambda: self.kab.processes("kabd"), 20, "the next command that needs one starts a daemon")
            watcher.terminate()  # a killed CLI does not cancel
            watcher.communicate()
        done = self.kab.run("watch", uid)
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        self.planned_counts(iterations=3)
        self.assertGreaterEqual(int(self.kab.query("select count(*) from attempt where lost")[0][0]), 2)

    def test_a_killed_host_or_emulator_is_an_infra_error_and_tried_again(self):
        spec = self.kab.write("small.yaml", small_spec(iterations=3))
        process = self.kab.start("run", spec)
        for program in ("qemu-system", "kab-host"):
            failed = "select count(*) from attempt where outcome = 'infra-error'"
            before = int(self.kab.query(failed)[0][0]) if self.kab.has_results() else 0
            wait_until(self.guest_is_up, 1200, "a guest has said hello")
            os.kill(self.kab.processes(program)[0], signal.SIGKILL)
            wait_until(
                lambda: int(self.kab.query(failed)[0][0]) > before,
                30,
                f"killing {program} is seen",
            )
        out, err = process.communicate(timeout=1500)
        self.assertIn(process.returncode, (0, 1, 4), err)
        self.planned_counts(iterations=3)

    def test_a_full_disk_stops_it_and_loses_nothing(self):
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", self.kab.make_state()], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("needs the right to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", self.kab.state], check=True)
        spec = self.kab.write("small.yaml", small_spec(iterations=3))
        process = self.kab.start("run", spec)
        self.addCleanup(process.kill)
        wait_until(self.guest_is_up, 1200, "a guest has said hello")
        filler = self.kab.state / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 3, err)
        self.assertRegex(err, r"(?m)^kab: .*(disk is full|No space left|disk full)")
        wait_until(lambda: not descendants_of(self.kab.mark), 30, "nothing is left running")
        self.assertEqual(self.kab.run("list").returncode, 0, "what is there can be read")
        filler.unlink()
        done = self.kab.run("watch", "last")
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        self.planned_counts(iterations=3)

    def test_interrupt_cancels_cleans_up_and_exits_130(self):
        spec = self.kab.write("small.yaml", small_spec(iterations=3))
        process = self.kab.start("run", spec)
        wait_until(lambda: self.kab.processes("qemu-system"), 1200, "a boot is under way")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        wait_until(lambda: not self.kab.processes("qemu-system"), 10, "QEMU is gone")
        self.assertEqual(self.kab.query("select status from evaluation")[0][0], "cancelled")

    def test_prebuilt_images_are_the_same_kernels(self):
        built = self.kab.run("run", self.kab.write("small.yaml", small_spec(looks="[2]")))
        self.assertIn(built.returncode, (0, 1, 4), built.stderr)
        paths = dict(self.kab.query("select arm.name, kernel.path from arm join kernel on kernel.id = arm.kernel_id"))
        arms = "".join(f"  {name}: {{source: {{image: {path}}}}}\n" for name, path in paths.items() if name != "A'")
        done = self.kab.run("run", self.kab.write("images.yaml", small_spec("images", looks="[2]", arms=arms)))
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        signatures = self.kab.query("select distinct code_signature from kernel")
        self.assertEqual(len(signatures), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
