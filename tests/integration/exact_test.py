"""Exact mode on real kernels: the same kernel gives the same figures, digit for digit, on a busy machine."""

import multiprocessing
import os
import unittest

from host_client import Host
from kab_env import Kab, TARBALL

MEBIBYTE = 1 << 20
SPEC = f"""
experiment: exact
kernel: {{source: {{tarball: {TARBALL}}}, config: [vm.config]}}
arms:
  inline-free: {{patches: [linux-6.1/ipc-ns/0001-ipc-free-the-namespace-inline-in-put_ipc_ns.patch]}}
  deferred-free: {{}}
workloads: [{{workload: ipcns-exit, with: {{children: 40}}, iterations: 2}}]
host: {{exact: true, memory: 256M}}
decide: {{primary: ipcns-exit/busy, fixed: 2, control: relink, seed: 7}}
"""
NAMES = {"elapsed", "busy", "idle", "backlog"}


def spin():
    while True:
        pass


class BusyMachine:
    """A loop on every CPU that this process, and so its guests, may use."""

    def __enter__(self):
        self.loops = [multiprocessing.Process(target=spin, daemon=True) for _ in range(len(os.sched_getaffinity(0)))]
        for loop in self.loops:
            loop.start()

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.join()


def exact_boot(kernel, timer_phase_ns=0, layout_pages=0, attempt="A1"):
    """(samples by seq, seconds of the guest's clock at which each run started)"""
    orders = [
        {"seq": n + 1, "workload": "ipcns-exit", "point": 0, "with": {"children": 40}, "iteration": n} for n in range(3)
    ]
    orders.append({**orders[0], "seq": 4, "counters": ["task-clock", "context-switches", "page-faults"]})
    plan = {
        "runs": orders, "drain_limit_ns": 60 * 10**9, "timer_phase_ns": timer_phase_ns, "layout_pages": layout_pages
    }
    with Host() as host:
        finished, messages = host.boot(
            kernel, attempt=attempt, plan=plan, exact=True, accel="tcg", cpus=1, memory_bytes=256 * MEBIBYTE)
        assert finished["outcome"] == "ok", finished
        said = next(m for m in messages if m["type"] == "boot-hello")
        runs = [m for m in messages if m["type"] == "run-finished"]
    return said, {m["seq"]: (m["started_ns"], {s["metric"]: s["value"] for s in m["samples"]}) for m in runs}


class Exact(unittest.TestCase):
    """One small evaluation, then boots of its kernels by hand."""

    @classmethod
    def setUpClass(cls):
        cls.kab = Kab()
        cls.addClassCleanup(cls.kab.close)
        spec = cls.kab.write("exact.yaml", SPEC)
        with BusyMachine():
            cls.done = cls.kab.run("run", spec)
        assert cls.done.returncode in (0, 1, 4), cls.done.stderr
        cls.kernel = cls.kab.query(
            "SELECT kernel.path FROM kernel JOIN arm ON arm.kernel_id = kernel.id WHERE arm.name = 'inline-free'")[0][0]

    def samples(self, arm):
        return self.kab.query(
            "SELECT block, metric, iteration, value FROM v_sample "
            f"WHERE arm = '{arm.replace(chr(39), 2 * chr(39))}' ORDER BY block, metric, iteration, warmup")

    def test_the_control_is_exactly_its_baseline(self):
        control, baseline = self.samples("A'"), self.samples("inline-free")
        self.assertEqual(control, baseline)
        self.assertEqual({row[1] for row in control}, NAMES)
        of_block = [[row[3] for row in control if row[0] == number] for number in sorted({row[0] for row in control})]
        self.assertEqual(len(of_block), 2)
        self.assertEqual(len(of_block[0]), len(NAMES) * 3, "with the warm-up")
        self.assertNotEqual(of_block[0], of_block[1], "the timer's phase varies")
        self.assertNotEqual(self.kab.query("SELECT verdict FROM evaluation"), [["invalid"]])
        text = " ".join(self.done.stdout.split())
        self.assertIn("exactly the same, as it must be", text)
        self.assertIn("it says how many more, never how long", text)

    def test_moved_code_is_a_kernel_of_its_own_and_no_question(self):
        signatures = self.kab.query("SELECT DISTINCT code_signature FROM kernel")
        self.assertEqual(len(signatures), 3, "two arms, and the baseline with its code moved")
        self.assertIn("placement of code, A'relinked (inline-free with its code moved)", " ".join(self.done.stdout.split()))
        self.assertEqual(
            self.kab.query("SELECT DISTINCT verdict FROM v_comparison WHERE role = 'relinked'"), [["none"]])

    def test_two_boots_of_one_image_are_the_same_digit_for_digit(self):
        said, quiet = exact_boot(self.kernel)
        self.assertEqual(said["agent"]["clocksource"].partition("-")[0], "tsc")
        self.assertTrue(said["agent"]["high_resolution_timers"])
        self.assertEqual(set(quiet), {1, 2, 3, 4})
        for seq in (1, 2, 3):
            samples = quiet[seq][1]
            self.assertEqual(set(samples), NAMES)
            self.assertEqual(samples["busy"] + samples["idle"], samples["elapsed"])
            self.assertGreater(samples["busy"], 0)
        self.assertNotEqual(quiet[1][1], quiet[2][1], "runs of one boot do differ")
        with BusyMachine():
            _, busy = exact_boot(self.kernel, attempt="B2")
        self.assertEqual(busy, quiet)

    def test_timer_and_layout_are_what_varies(self):
        _, plain = exact_boot(self.kernel)
        _, moved = exact_boot(self.kernel, timer_phase_ns=300_000)
        _, laid_out = exact_boot(self.kernel, layout_pages=100)
        for other in (moved, laid_out):
            self.assertNotEqual([other[n][1] for n in (1, 2, 3)], [plain[n][1] for n in (1, 2, 3)])
            for seq in (1, 2, 3):
                self.assertAlmostEqual(other[seq][1]["busy"] / plain[seq][1]["busy"], 1, delta=0.1)


if __name__ == "__main__":
    unittest.main()
