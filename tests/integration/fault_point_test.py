"""kabd killed at every one of its named fault points (daemon/fault), at the first passing, at the last one and at
KAB_PASSINGS - 2 between them (default 2: none; six times as many where transactions begin and end), and where the next
kabd passes there too, killed again. Restarted each time, the evaluation ends with exactly the result of an undisturbed
one."""

import collections
import os
import re
import signal
import subprocess
import unittest

from kab_env import BIN, alive, wait_until
from simulated_kab import SimulatedKab

PASSINGS = max(2, int(os.environ.get("KAB_PASSINGS", "2")))
BLOCKS = 3
# Points with a test of their own: no undisturbed evaluation passes them, or only the end of its kabd.
ELSEWHERE = {"stop-builder.carried-out", "cancel-attempt.carried-out", "boot.given-up", "host.lost", "run.refused",
             "end.stopped"}
HELD_BUILDER = """#!/bin/sh
if [ "$1" = build ] && [ -p "{fifo}" ]; then read _ < "{fifo}"; fi
exec "{program}" "$@"
"""


def list_of_points():
    done = subprocess.run([BIN / "kabd", "--fault-points"], capture_output=True, text=True)
    assert done.returncode == 0, f"this kabd has no fault points (-DKAB_FAULT_POINTS=ON): {done.stderr}"
    points = [line.split("\t") for line in done.stdout.splitlines()]
    assert all(len(point) == 2 and all(point) for point in points), points
    return [name for name, _ in points]


def chosen(point, passings):
    """Of 1 to `passings`: the first, the last, and so many evenly between them."""
    wanted = min(PASSINGS * (6 if point.startswith("store.") else 1), passings)
    return sorted({1 + (passings - 1) * i // max(1, wanted - 1) for i in range(wanted)})


class FaultPoints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.points = list_of_points()
        kab = cls.kab_of_its_own()
        try:
            kab.start_daemon()
            kab.await_daemon()
            uid = kab.submit()
            kab.finish(uid)
            cls.undisturbed = kab.result(uid)
            samples = kab.samples_by_kind(uid)
            assert samples == kab.planned(BLOCKS), samples
            kab.end()
            told = re.findall(r"fault point (\S+) passed (\d+) times", kab.log_text())
            cls.passings = {name: int(times) for name, times in told}
        finally:
            kab.close()
        status, _, comparisons = cls.undisturbed
        assert status[0][0] == "done", status
        verdicts = {row[1]: row[-1] for row in comparisons if row[0] == 1 and row[2] == "elapsed"}  # of the second look
        assert (verdicts["patched"], verdicts["same"]) == ("improved", "inconclusive"), verdicts
        assert list(cls.passings) == cls.points, cls.passings

    @staticmethod
    def kab_of_its_own():
        # Of the second arm the first look can say nothing yet: it is as the baseline, and the margin small.
        return SimulatedKab(("base", "patched", "same"), f"margin: 0.2%, looks: [2, {BLOCKS}]")

    def setUp(self):
        self.kab = self.kab_of_its_own()
        self.addCleanup(lambda: self.kab.close())

    def killed_at(self, point, passing):
        """Waits for the end of our kabd, which must be at the fault point."""
        self.assertEqual(self.kab.daemon.wait(60), -signal.SIGKILL, self.kab.log_text()[-2000:])
        self.assertIn(f"kabd kills itself at fault point {point}, passing {passing}\n", self.kab.log_text())

    def after_the_kill(self, uid):
        """Until the end of the evaluation under a kabd that nobody kills; checks what is left."""
        if not self.kab.processes("kabd"):
            self.kab.start_daemon()
        self.kab.finish(uid)
        self.assertEqual(self.kab.result(uid), self.undisturbed)
        self.assertEqual(self.kab.flaws(), [])

    def kill_at(self, point, passing):
        """How many kabd were killed there."""
        self.kab.start_daemon(KAB_FAULT_POINT=f"{point}:{passing}")
        wait_until(lambda: self.kab.daemon.poll() is not None or (self.kab.state / "kabd.sock").exists(), 30, "it is up")
        # When its daemon dies under it the CLI starts another one and asks again with the same key.
        uid = self.kab.submit()
        wait_until(lambda: self.kab.daemon.poll() is not None or self.kab.ended(uid), 60, f"{point} is passed")
        if self.kab.daemon.poll() is None:
            self.fail(f"{point} is not passed a {passing}. time")
        self.killed_at(point, passing)
        kills = 1
        if not self.kab.processes("kabd"):
            self.kab.start_daemon(KAB_FAULT_POINT=point)
            wait_until(lambda: self.kab.daemon.poll() is not None or self.kab.ended(uid), 60, "killed again, or done")
            if self.kab.daemon.poll() is not None:
                self.killed_at(point, 1)
                kills += 1
        self.after_the_kill(uid)
        return kills

    def test_every_fault_point_that_an_evaluation_passes(self):
        counts = collections.Counter()
        for point in self.points:
            if point in ELSEWHERE:
                self.assertTrue(hasattr(self, "test_" + re.sub("[.-]", "_", point)), point)
                continue
            with self.subTest(point):
                self.assertGreater(self.passings[point], 0, "no evaluation passes it: give it a test of its own")
            for passing in chosen(point, self.passings[point]):
                with self.subTest(point, passing=passing):
                    counts["kills"] += self.kill_at(point, passing)
                    counts["places"] += 1
                self.kab.close()
                self.kab = self.kab_of_its_own()
            counts["points"] += 1
        print(f"fault points: {counts['kills']} kills of kabd at {counts['points']} points ({counts['places']} passings) "
              f"and {len(ELSEWHERE)} in tests of their own", flush=True)

    def test_a_name_that_is_not_in_the_list(self):
        for given, told in (("no-such", "no fault point 'no-such'"), ("run.stored:0", "is not NAME:N"),
                            ("run.stored:2x", "is not NAME:N"), ("run.stored:", "is not NAME:N")):
            with self.subTest(given):
                self.kab.start_daemon(KAB_FAULT_POINT=given)
                self.assertEqual(self.kab.daemon.wait(60), 2)
                self.assertIn(told, self.kab.log_text())

    def hold_builds(self):
        """kab-build waits before it builds, for good."""
        fifo = self.kab.directory / "fifo"
        os.mkfifo(fifo)
        program = self.kab.libexec / "kab-build"
        program.write_text(HELD_BUILDER.format(fifo=fifo, program=BIN / "kab-build"))
        program.chmod(0o755)
        return lambda: fifo.unlink()

    def cancelled_at(self, point, until, **env):
        """Cancelled once `until` is true of the evaluation; killed while that is done. Stays cancelled, and the next
        evaluation is as ever."""
        self.kab.start_daemon(KAB_FAULT_POINT=point, **env)
        uid = self.kab.submit()
        wait_until(lambda: until(uid), 60, "there is something to cancel")
        self.kab.run("cancel", uid)
        self.killed_at(point, 1)
        self.kab.start_daemon()
        self.kab.await_daemon()
        self.assertEqual(self.kab.status(uid), "cancelled")
        self.assertEqual(self.kab.flaws(), [])
        return uid

    def dispatched(self, uid):
        return self.kab.rows("select 1 from attempt where status = 'dispatched' and accel <> ''")

    def test_stop_builder_carried_out(self):
        go_on = self.hold_builds()
        building = "select 1 from arm where status = 'building'"
        self.cancelled_at("stop-builder.carried-out", lambda uid: self.kab.rows(building))
        go_on()
        self.after_the_kill(self.kab.submit())

    def test_cancel_attempt_carried_out(self):
        self.cancelled_at("cancel-attempt.carried-out", self.dispatched, KAB_FAKE_HOST="hold")
        self.after_the_kill(self.kab.submit())

    def test_boot_given_up(self):
        machine = subprocess.Popen(["flock", self.kab.env["KAB_MACHINE_LOCK"], "cat"], stdin=subprocess.PIPE)
        self.addCleanup(machine.communicate)
        lock = self.kab.directory / "machine.lock"
        wait_until(lambda: lock.exists() and subprocess.run(["flock", "-n", lock, "true"]).returncode, 30, "it is taken")
        waits = "select 1 from attempt where status = 'dispatched'"
        self.cancelled_at("boot.given-up", lambda uid: self.kab.rows(waits))
        machine.communicate()
        self.after_the_kill(self.kab.submit())

    def test_host_lost(self):
        self.kab.start_daemon(KAB_FAULT_POINT="host.lost", KAB_FAKE_HOST="hold")
        uid = self.kab.submit()
        wait_until(lambda: self.dispatched(uid), 60, "a boot is under way")
        os.kill(self.kab.host(), signal.SIGKILL)
        self.killed_at("host.lost", 1)
        self.after_the_kill(uid)

    def test_run_refused(self):
        self.kab.start_daemon(KAB_FAULT_POINT="run.refused", KAB_FAKE_HOST="unplanned")
        uid = self.kab.submit()
        self.killed_at("run.refused", 1)
        self.after_the_kill(uid)

    def test_end_stopped(self):
        self.kab.start_daemon(KAB_FAULT_POINT="end.stopped", KAB_FAKE_HOST="hold")
        uid = self.kab.submit()
        wait_until(lambda: self.dispatched(uid), 60, "a boot is under way")
        host = self.kab.host()
        self.kab.daemon.terminate()
        self.killed_at("end.stopped", 1)
        wait_until(lambda: not alive(host), 10, "the host has ended")
        self.after_the_kill(uid)


if __name__ == "__main__":
    unittest.main(verbosity=2)
