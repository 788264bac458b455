"""Real kernels that go wrong as they are told to (tests/patches/linux-6.1/faults), and what kab makes of each."""

import contextlib
import json
import math
import pathlib
import re
import shutil
import tempfile
import unittest
from dataclasses import dataclass

from host_client import Host
from kab_env import SOURCE, TARBALL, Kab
from kernel_sources_test import Builder

PATCHES = sorted((SOURCE / "tests/patches/linux-6.1/faults").glob("*.patch"))
DEBUG_CONFIG = SOURCE / "configs/kernel/debug.config"
MEBIBYTE = 1 << 20
SECOND = 10**9
RUNS = 2


@dataclass
class Fault:
    """WHAT@WHEN, and what must be said of it: the outcome, its detail (a pattern), kinds and signatures in order."""

    told: str
    outcome: str
    detail: str
    events: tuple = ()  # (kind, severity, what the signature has)
    runs: int = 0  # that were finished before
    ends_with: str = ""  # what the last hundred lines of the console have
    debug: bool = False  # needs the detectors of debug.config
    children: int = 8
    options: tuple = ()  # of the boot request

    def request(self, host, kernels, attempt="A1"):
        orders = [{"seq": n + 1, "workload": "ipcns-exit", "point": 0, "iteration": n,
                   "with": {"children": self.children, "concurrency": 1}} for n in range(RUNS)]
        memory = 256 if self.debug else 96
        host.request(kernels[self.debug], attempt=attempt, command_line=f"kab_fault={self.told}",
                     memory_bytes=memory * MEBIBYTE, plan={"runs": orders, "drain_limit_ns": 60 * SECOND},
                     **dict(self.options))

    def start(self, host, kernels):
        """Until the agent has said hello. Timers that a busy machine disturbs are tried again, as kabd would."""
        for attempt in ("A1", "A2", "A3"):
            self.request(host, kernels, attempt)
            last = host.until("boot-hello", "boot-finished")[-1]
            if last["type"] == "boot-hello":
                return
        raise AssertionError(f"{self.told} never starts: {last}")

    def boot(self, host, kernels):
        """Until the boot has ended. The emulator itself resets a guest now and then (docs/booting.md, known faults)."""
        for attempt in ("A1", "A2", "A3"):
            self.request(host, kernels, attempt)
            finished = host.until("boot-finished")[-1]
            if self.told.startswith("reset") or " reset " not in finished.get("detail", ""):
                break
        return finished


LONG = (("run_limit_ns", 40 * SECOND), ("boot_limit_ns", 120 * SECOND))

# Each ends by itself or by a short limit.
SHORT = [
    Fault("panic@0", "kernel-crash", "^Kernel panic - not syncing: kab_fault: as it was told$",
          (("panic", "fatal", "Kernel panic - not syncing: kab_fault: as it was told"),),
          ends_with="Kernel panic - not syncing: kab_fault: as it was told"),
    Fault("reset@0", "boot-failure", "^the guest reset before the agent said hello; last console line: "),
    Fault("mute@0", "boot-failure", "^no hello from the agent within 15.*s; last console line: ",
          options=(("boot_limit_ns", 15 * SECOND),)),
    Fault("oops@5", "kernel-crash", "^BUG: kernel NULL pointer dereference, address: 0000000000000008$",
          (("oops", "fatal", "BUG: kernel NULL pointer dereference, address: X in kab_fault_oops"),),
          ends_with="Kernel panic - not syncing: Fatal exception"),
    Fault("reset@5", "kernel-crash", "^the guest reset without a word in run 1 of 2; last console line: "),
    Fault("kill-agent@5", "infra-error", r"^kab-agent: the agent was killed by signal 9 \(Killed\) in run 1 of 2$"),
    Fault("warning@5", "ok", "^$", (("warning", "warning", "at ipc/kab_fault.c:N kab_fault_warning"),), runs=RUNS),
    Fault("deadlock@end", "ok", "^$", (("shutdown", "error", "the guest did not go down after its last run"),), runs=RUNS,
          options=(("run_limit_ns", 20 * SECOND),)),
    Fault("bug@end", "kernel-crash", r"^kernel BUG at ipc/kab_fault\.c:\d+!$",
          (("bug", "fatal", "kernel BUG at ipc/kab_fault.c:N in kab_fault_bug"),), runs=RUNS,
          ends_with="Kernel panic - not syncing: Fatal exception"),
]

# These take until the limit of a run, so they run beside each other.
SLOW = [
    Fault("deadlock@5", "hang", r"^nothing within 40.*s in run 1 of 2; console: "
          r"INFO: task .* blocked for more than 15 seconds\.; nothing on the console for the last .* s$",
          (("hung-task", "error", "blocked for more than N seconds"),), debug=True, options=LONG),
    # If a grace period is pending, the stall is told before the lockup.
    Fault("lockup@5", "hang", "^nothing within 40.*s in run 1 of 2; console: (watchdog: BUG: soft lockup - CPU#0 stuck for .*|"
          "rcu: INFO: rcu_sched .* stall.*); nothing on the console for the last .* s$",
          (("lockup", "error", "BUG: soft lockup - CPU#N stuck for Ns"),), debug=True, options=LONG),
]


class FaultyKernels(unittest.TestCase):
    """One kernel has all faults; one more has the debug variants' hang detectors."""

    @classmethod
    def setUpClass(cls):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="kab-faults-"))
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        builder = Builder(directory)
        _, lean = builder.kernel("tarball", TARBALL, PATCHES)
        _, debug = builder.kernel("tarball", TARBALL, PATCHES, extra_config=[str(DEBUG_CONFIG)])
        cls.kernels = {False: lean["path"], True: debug["path"]}
        assert lean["warnings"] == debug["warnings"] == 0, (lean, debug)

    def check(self, fault, host, finished):
        self.assertEqual((finished["outcome"], finished["runs"]), (fault.outcome, fault.runs), finished)
        self.assertRegex(finished.get("detail", ""), fault.detail)
        events = finished.get("console", [])
        if fault.outcome == "hang":  # which other detectors notice, too
            self.assertIn(events[0]["text"].splitlines()[0], finished["detail"], "the first to tell speaks")
            kinds = [kind for kind, _, _ in fault.events]
            events = [e for e in events if e["kind"] in kinds][: len(kinds)]
        self.assertEqual([(e["kind"], e["severity"]) for e in events], [(kind, sev) for kind, sev, _ in fault.events], events)
        for event, (_, _, signature) in zip(events, fault.events):
            self.assertIn(signature, event["signature"])
        lines = host.console.read_bytes().decode(errors="replace").splitlines()
        self.assertEqual(host.console.stat().st_size, finished["console_bytes"])
        self.assertTrue(any("Linux version" in line for line in lines[:20]), "whole, from the first line")
        self.assertIn(fault.ends_with, "\n".join(lines[-100:]))
        for event in events:
            if event["kind"] == "shutdown":  # kab-host's own word
                self.assertAlmostEqual(event["line"], host.console.read_bytes().count(b"\n"), delta=1)  # perhaps half a line
                self.assertRegex(event["text"], "^the guest did not go down within 20.*s of its last run; last console line: ")
                continue
            self.assertIn(event["text"].splitlines()[0], lines[event["line"] - 1], "the line where it begins")

    def test_faults_that_end_a_boot(self):
        for fault in SHORT:
            with self.subTest(fault.told), Host() as host:
                self.check(fault, host, fault.boot(host, self.kernels))

    def test_a_leak_until_memory_runs_out(self):
        leak = Fault("leak@1", "", "", children=500)
        with Host() as host:
            finished = leak.boot(host, self.kernels)
            self.assertIn(finished["outcome"], ("workload-error", "kernel-crash"), finished)
            self.assertRegex(finished["detail"], "Out of memory: Killed process|System is deadlocked on memory")
            self.assertIn("oom", [event["kind"] for event in finished["console"]])
            self.assertIn("Mem-Info", host.console.read_text(errors="replace"))

    def test_hangs_are_told_by_the_most_precise_detector_and_a_flood_is_ended(self):
        flood = Fault("flood@5", "", "", options=(("run_limit_ns", 900 * SECOND),))
        with contextlib.ExitStack() as stack:
            under_way = []
            for fault in (flood, *SLOW):
                host = stack.enter_context(Host())
                fault.start(host, self.kernels)  # now its timers are calibrated: the next may disturb it
                under_way.append((fault, host))
            for fault, host in under_way[1:]:
                with self.subTest(fault.told):
                    self.check(fault, host, host.until("boot-finished")[-1])
            with self.subTest(flood.told):
                self.check_flood(under_way[0][1], under_way[0][1].until("boot-finished")[-1])

    def check_flood(self, host, finished):
        self.assertEqual(finished["outcome"], "hang", finished)
        self.assertRegex(finished["detail"], "^the kernel floods its console: more than 16 MiB in run 1 of 2; last console line: ")  # perhaps half a line
        self.assertEqual(finished.get("console", []), [])
        size = host.console.stat().st_size
        self.assertEqual(size, finished["console_bytes"])
        self.assertGreater(size, 16 * MEBIBYTE)
        self.assertLess(size, 100 * MEBIBYTE, "it was ended before it was done")
        number = 0
        with open(host.console, "rb") as console:
            for line in console:
                found = re.search(rb"kab_fault: (\d{8}) #{199}\r?$", line)
                if found:
                    number += 1
                    self.assertEqual(int(found[1]), number, "not a line is missing")
        self.assertGreater(number * 236, 15 * MEBIBYTE, "nor anything at its end")


def fisher(failed_a, all_a, failed_b, all_b):
    """Two-sided, as docs/statistics.md has it: all tables no likelier than this one."""
    total, failed = all_a + all_b, failed_a + failed_b
    ways = [math.comb(all_a, k) * math.comb(all_b, failed - k) for k in range(failed + 1) if k <= all_a and failed - k <= all_b]
    here = math.comb(all_a, failed_a) * math.comb(all_b, failed_b)
    return sum(w for w in ways if w <= here) / math.comb(total, failed)


class FaultyArms(unittest.TestCase):
    """An evaluation: arms of one kernel, one of which always crashes under load, one in a third of its boots by the lot."""

    SPEC = f"""experiment: faulty
question: Does it crash?
kernel:
  source: {{tarball: {TARBALL}}}
  config: [vm.config]
  patches: [{", ".join(map(str, PATCHES))}]
arms:
  sound: {{}}
  crashing: {{command_line: kab_fault=oops@5}}
  flaky: {{command_line: kab_fault=bug@12/3}}
workloads:
  - {{workload: ipcns-exit, with: {{children: 8}}, iterations: 2, warmup: 0}}
host: {{kind: qemu, cpus: 2, memory: 256M}}
decide: {{primary: ipcns-exit/elapsed, margin: 20%, fixed: 6, seed: 11}}
"""

    def evaluate(self):
        """Once more where the emulator has reset a sound kernel (docs/booting.md, known faults), or where the lot has
        stopped the flaky arm as well: then blocks end early."""
        for _ in range(3):
            self.kab = Kab()
            self.addCleanup(self.kab.close)
            done = self.kab.run("run", self.kab.write("faulty.yaml", self.SPEC))
            sound = self.kab.query("select count(*) from v_boot where (arm = 'sound' or control) and outcome <> 'ok'")[0][0]
            stopped = self.kab.query("select count(*) from arm where name = 'flaky' and status = 'stopped'")[0][0]
            if int(sound) == int(stopped) == 0:
                break
        return done

    def test_a_crashing_treatment_is_said_first_with_trace_signature_and_console(self):
        done = self.evaluate()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)  # worse than its baseline
        report = json.loads(self.kab.run("report", "last", "--format", "json").stdout)
        boots = {}
        for arm, outcome, attempts, infra in self.kab.query(
                "select boot.arm, boot.outcome, boot.attempts, (select count(*) from attempt join boot as b on "
                "b.id = attempt.boot_id where b.uid = boot.boot and attempt.outcome = 'infra-error') "
                "from v_boot as boot where boot.status = 'done'"):
            boots.setdefault(arm, []).append(outcome)
            self.assertEqual(attempts, infra + 1, f"{arm}: no fault of a kernel is tried again")

        with self.subTest("the report says it before anything else"):
            self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 78], [])
            text = " ".join(done.stdout.split())
            self.assertRegex(text, r"Does it crash\? crashing against sound: regressed \(crashing (keeps crashing|fails to boot)\): "
                             "4 boots in a row failed; the last: ")
            self.assertLess(done.stdout.index("\nFailed boots\n"), done.stdout.index("\nSetup\n"))
            entry = done.stdout.split("\nFailed boots\n")[1].split("\nSetup\n")[0]
            self.assertRegex(entry, r"\ncrashing: kernel-crash in [234] boots, first in block ")
            self.assertIn("BUG: kernel NULL pointer dereference, address: X in kab_fault_oops (oops, fatal; from line ", " ".join(entry.split()))
            self.assertRegex(entry, r"\n    RIP: 0010:kab_fault_oops\+0x")
            self.assertRegex(entry, r"\n     copy_ipcs\+0x")
        with self.subTest("each arm's boots are counted, with Fisher's test"):
            self.assertEqual(len(boots["crashing"]), 4, "after four in a row it is stopped")
            self.assertNotIn("ok", boots["crashing"])
            self.assertGreaterEqual(boots["crashing"].count("kernel-crash"), 2)  # the emulator resets a guest now and then
            self.assertEqual(len(boots["sound"]), 6)
            for arm in ("crashing", "flaky"):
                failed = sum(outcome != "ok" for outcome in boots[arm])
                base = sum(outcome != "ok" for outcome in boots["sound"])
                expected = fisher(failed, len(boots[arm]), base, len(boots["sound"]))
                told = next(f for f in report["failures"] if f["arm"] == arm)
                self.assertEqual((told["failed"], told["boots"]), (failed, len(boots[arm])), told)
                self.assertAlmostEqual(told["p"], expected, places=9)
                if failed:
                    self.assertIn(f"{arm} failed in {failed} of {len(boots[arm])} boots, sound in {base} of 6 (Fisher's exact p ",
                                  text.replace("\u00a0", " "))
            self.assertLess(next(f for f in report["failures"] if f["arm"] == "crashing")["p"], 0.05)
        with self.subTest("the whole console is where it says"):
            crash = next(f for f in report["faults"] if f["arm"] == "crashing" and f["signature"])
            self.assertIn("console " + crash["console"], entry.splitlines())
            console = (self.kab.state / "artifacts" / crash["console"]).read_text(errors="replace")
            self.assertIn("Linux version", console)
            self.assertIn("Kernel panic - not syncing: Fatal exception", console)
            self.assertIn(crash["text"].splitlines()[0], console.splitlines()[crash["line"] - 1])
            self.assertIn(str(self.kab.state / "artifacts" / crash["console"]), self.kab.run("show", "last").stdout)
        with self.subTest("what an arm crashes of has one signature in all its boots"):
            for arm, kind, signature in (("crashing", "oops", "in kab_fault_oops"), ("flaky", "bug", "in kab_fault_bug")):
                events = self.kab.query(
                    "select distinct e.kind, e.signature from console_event as e join attempt on attempt.id = e.attempt_id "
                    f"join boot on boot.id = attempt.boot_id join arm on arm.id = boot.arm_id where arm.name = '{arm}'")
                self.assertLessEqual(len(events), 1, events)
                for got, words in events:
                    self.assertEqual(got, kind)
                    self.assertIn(signature, words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
