"""Exact mode on real kernels: the same kernel gives the same figures, digit for digit, on a busy machine."""

import multiprocessing
import os
import unittest

from boot_test import lean_kernel
from host_client import Host
from kab_env import Kab, TARBALL

MEBIBYTE = 1 << 20
NAMES = {"elapsed", "busy", "idle", "backlog"}


def spin():
    while True:
        pass


class BusyMachine:
    """A loop on every CPU of the host."""

    def __enter__(self):
        self.loops = [multiprocessing.Process(target=spin, daemon=True) for _ in range(os.cpu_count())]
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


class ExactBoot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = lean_kernel()

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
                self.assertAlmostEqual(other[seq][1]["busy"] / plain[seq][1]["busy"], 1, delta=0.2)


class ExactEvaluation(unittest.TestCase):
    def test_an_evaluation_with_its_control(self):
        kab = Kab()
        self.addCleanup(kab.close)
        spec = kab.write(
            "exact.yaml",
            "experiment: exact\n"
            f"kernel: {{source: {{tarball: {TARBALL}}}, config: [vm.config]}}\n"
            "arms:\n"
            "  inline-free: {patches: [linux-6.1/ipc-ns/0001-ipc-free-the-namespace-inline-in-put_ipc_ns.patch]}\n"
            "  deferred-free: {}\n"
            "workloads: [{workload: ipcns-exit, with: {children: 40}, iterations: 2}]\n"
            "host: {exact: true, memory: 256M}\n"
            "decide: {primary: ipcns-exit/busy, fixed: 2, seed: 7}\n")
        with BusyMachine():
            done = kab.run("run", spec)
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        values = kab.query(
            "SELECT block, metric, iteration, value, arm FROM v_sample WHERE arm IN ('inline-free', 'A''') "
            "ORDER BY arm, block, metric, iteration")
        control = [row[:4] for row in values if row[4] == "A'"]
        baseline = [row[:4] for row in values if row[4] == "inline-free"]
        self.assertEqual(control, baseline)
        self.assertEqual({row[1] for row in control}, NAMES)
        self.assertNotEqual([row[3] for row in control if row[0] == "1"], [row[3] for row in control if row[0] == "2"])
        self.assertEqual(kab.query("SELECT DISTINCT verdict = 'invalid' FROM evaluation"), [["0"]])
        self.assertIn("exactly the same, as it must be", done.stdout)
        self.assertIn("how many more", done.stdout)


if __name__ == "__main__":
    unittest.main()
