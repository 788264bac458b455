"""A kernel that is fast because it is wrong does not pass: real kernels, made wrong by patches."""

import json
import os
import unittest
from pathlib import Path

from kab_env import Kab

LEAK = Path(__file__).resolve().parents[1] / "patches/linux-6.1/0001-ipc-do-not-free-a-namespace.patch"


SLEEP = LEAK.with_name("0002-ipc-allocate-under-mq_lock.patch")
IMPATIENT = LEAK.with_name("0003-proc-remove-an-entry-without-waiting-for-its-users.patch")
UNASKED = LEAK.with_name("0004-ipc-sem-do-not-check-permissions-in-semop.patch")
REACHING = LEAK.with_name("0005-pid-find-a-process-outside-of-a-nested-namespace.patch")
REMOVABLE = "linux-6.1/proc-read/test/0001-proc-an-entry-that-can-be-removed-for-a-self-check.patch"


def spec(arms, checks="[ipcns-check]", debug="debug: false"):
    return f"""experiment: leak
question: Is it faster not to free an IPC namespace?
kernel:
  source: {{tarball: /usr/src/linux-source-6.1.tar.xz}}
  config: [vm.config]
arms:
{arms}
workloads:
  - {{workload: ipcns-exit, with: {{children: 20}}, iterations: 2, warmup: 0}}
checks: {checks}
{debug}
decide: {{looks: [2], control: true}}
"""


class Checks(unittest.TestCase):
    def setUp(self):
        self.kab = Kab()
        self.addCleanup(self.kab.close)

    def evaluate(self, file):
        """`kab run`, once more where the emulator reset a guest."""
        done = self.kab.run("run", file)
        if self.kab.resets():
            self.setUp()
            done = self.kab.run("run", file)
        return done

    def test_arms_that_are_wrong_are_stopped_before_they_are_timed_and_said_first(self):
        """One leaks, one asks nobody for permission: neither has anything on its console."""
        arms = f"  right: {{}}\n  leaking: {{patches: [{LEAK}]}}\n  unasked: {{patches: [{UNASKED}]}}"
        file = self.kab.write("leak.yaml", spec(arms, checks="[ipcns-check, sem-check]"))
        done = self.evaluate(file)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)  # worse than their baseline

        with self.subTest("the report says it before anything else"):
            text = " ".join(done.stdout.split())
            self.assertIn("Is it faster not to free an IPC namespace? WRONG: leaking failed its checks (ipcns-check, "
                          "sem-check) as it is: workload-error: ipcns-check: ", text)
            self.assertIn("leaves memory behind", text)
            self.assertIn("WRONG: unasked failed its checks (ipcns-check, sem-check) as it is: workload-error: "
                          "sem-check: ", text)
            self.assertIn("mode 600: semop +1 by another user", text)
            self.assertIn("ipcns-check, sem-check: FAILED on leaking, unasked; passed on right", text)
            self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 78], [])
        with self.subTest("nothing of them was timed"):
            self.assertEqual(self.kab.query("select arm, block, outcome from v_boot order by arm, block"),
                             [["leaking", 0, "workload-error"], ["right", 0, "ok"], ["unasked", 0, "workload-error"]])
            self.assertEqual(self.kab.query("select count(*) from v_sample")[0][0], 0)
            self.assertEqual(self.kab.query("select count(*) from console_event")[0][0], 0)
        with self.subTest("status, show and JSON"):
            self.assertEqual(
                self.kab.query("select name, status from arm order by position"),
                [["right", "ready"], ["leaking", "stopped"], ["unasked", "stopped"], ["A'", "ready"]])
            report = json.loads(self.kab.run("report", "last", "--format", "json").stdout)
            self.assertEqual(report["verdict"], "regressed")
            self.assertEqual([(r["arm"], r["outcome"]) for r in report["checks"]["results"]],
                             [("right", "ok"), ("leaking", "workload-error"), ("unasked", "workload-error")])
            console = self.kab.state / "artifacts" / report["checks"]["results"][1]["console"]
            self.assertGreater(os.path.getsize(console), 0)
            self.assertIn("checks, leaking: workload-error", " ".join(self.kab.run("show", "last").stdout.split()))

    def test_a_kernel_whose_nested_processes_reach_out_is_stopped(self):
        """All that is timed in the initial namespace is right."""
        arms = f"  right: {{}}\n  reaching: {{patches: [{REACHING}]}}"
        done = self.evaluate(self.kab.write("reaching.yaml", spec(arms, checks="[pid-check]")))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        text = " ".join(done.stdout.split())
        self.assertIn("WRONG: reaching failed its checks (pid-check) as it is: workload-error: pid-check: outside: ", text)
        self.assertIn("the process inside: kill of a process outside from inside succeeds", text)
        self.assertIn("pid-check: FAILED on reaching; passed on right", text)
        self.assertEqual(self.kab.query("select arm, block, outcome from v_boot order by arm, block"),
                         [["reaching", 0, "workload-error"], ["right", 0, "ok"]])
        self.assertEqual(self.kab.query("select count(*) from console_event")[0][0], 0)

    def test_what_only_a_debug_variant_notices_stops_its_arm(self):
        """Builds a kernel with debugging from scratch where none is in the cache: some minutes."""
        arms = f"  right: {{}}\n  sleeping: {{patches: [{SLEEP}]}}\n  impatient: {{patches: [{IMPATIENT}]}}"
        file = self.kab.write("debug.yaml", spec(
            arms, checks="[ipcns-check, {check: proc-removal-check, only: debug}]",
            debug=f"debug: {{config: [debug.config], patches: [{REMOVABLE}]}}"))
        done = self.evaluate(file)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        text = " ".join(done.stdout.split())
        self.assertIn("WRONG: sleeping failed its checks (ipcns-check, proc-removal-check) on its debug variant: ", text)
        self.assertIn("sleeping function called from invalid context", text)
        self.assertIn("WRONG: impatient failed its checks (ipcns-check, proc-removal-check) on its debug variant: ", text)
        self.assertIn("FAILED on sleeping'debug, impatient'debug; passed on right, sleeping, impatient, right'debug", text)
        self.assertEqual(self.kab.query("select count(*) from v_sample")[0][0], 0)
        built = self.kab.query(
            "select arm.name, kernel.objects from arm join kernel on kernel.id = arm.kernel_id "
            "where arm.name in ('sleeping''debug', 'impatient''debug')")
        for arm, objects in built:  # increments on the variant that was made before them; 0 where it was cached
            self.assertLess(objects, 100, arm)

    def test_a_baseline_that_leaks_leaves_nothing_to_compare(self):
        file = self.kab.write("leak.yaml", spec(f"  leaking: {{patches: [{LEAK}]}}\n  right: {{}}"))
        done = self.evaluate(file)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("WRONG: leaking failed its checks", " ".join(done.stdout.split())[:300])
        self.assertIn("leaking failed its checks", done.stderr)
        self.assertEqual(self.kab.query("select status from evaluation")[0][0], "failed")
        self.assertEqual(self.kab.query("select count(*) from block where number > 0")[0][0], 0)


if __name__ == "__main__":
    unittest.main()
