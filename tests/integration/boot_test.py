"""Real kernels under kab-host: a lean one as kab builds it, and Debian's own by both of its channels."""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from host_client import Host
from kab_env import Kab, small_spec

MEBIBYTE = 1 << 20


def lean_kernel():
    """KAB_TEST_KERNEL, or mainline as ipc-ns.yaml builds it (evaluation_test has done so before)."""
    if "KAB_TEST_KERNEL" in os.environ:
        return pathlib.Path(os.environ["KAB_TEST_KERNEL"])
    with contextlib.closing(Kab()) as kab:
        kab.build(kab.write("small.yaml", small_spec()), enough=lambda ready: "deferred-free" in ready)
        return pathlib.Path(kab.kernels()["deferred-free"])


def debian_kernel(folder):
    """(vmlinuz, directory of modules) of Debian's current kernel, unpacked from its package, not installed."""
    depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True)
    packages = [line.split()[-1] for line in depends.stdout.splitlines() if "Depends: linux-image-" in line]
    if not packages:
        raise unittest.SkipTest("apt does not know linux-image-amd64 (apt-get update?)")
    # As root, apt's own user may not write into our directory; apt-get then says so and downloads as root.
    got = subprocess.run(["apt-get", "download", packages[0]], cwd=folder, capture_output=True, text=True)
    if got.returncode != 0:
        raise unittest.SkipTest(f"cannot download {packages[0]}: {got.stderr.strip().splitlines()[-1:]}")
    archive = next(pathlib.Path(folder).glob("*.deb"))
    subprocess.run(["dpkg", "-x", archive, "root"], cwd=folder, check=True)
    archive.unlink()
    root = pathlib.Path(folder) / "root"
    return next(root.glob("boot/vmlinuz-*")), root


def profiled(host, kernel, groups, **options):
    """The samples of a profiled run by metric, and its profile; a timed run before it tells how long it takes."""
    order = {"workload": "proc-read", "point": 0, "with": {"tasks": 2, "loops": 3000}, "iteration": 0}
    profile = {"frequency_hz": 997, "groups": groups}
    plan = {"runs": [{"seq": 1, **order}, {"seq": 2, **order, "profile": profile}], "drain_limit_ns": 60 * 10**9}
    finished, messages = host.boot(kernel, plan=plan, cpus=2, **options)
    assert finished["outcome"] == "ok", finished
    timed, run = [m for m in messages if m["type"] == "run-finished"]
    assert "profile" not in timed, timed
    return {s["metric"]: s for s in run["samples"]}, run.get("profile", [])


def callers_of(symbol, profile):
    return {s.get("caller", "") for s in profile if s["symbol"] == symbol}


class LeanKernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = lean_kernel()

    def test_boots_and_works(self):
        with Host() as host:
            finished, messages = host.boot(self.kernel, runs=3, cpus=2, memory_bytes=256 * MEBIBYTE)
            self.assertEqual(finished["outcome"], "ok", finished)
            said = next(m for m in messages if m["type"] == "boot-hello")
            self.assertEqual((said["machine"], said["channel"]), ("microvm", "virtio"))
            agent = said["agent"]
            self.assertEqual(agent["cpus"], 2)
            self.assertTrue(agent["high_resolution_timers"])
            self.assertIn(agent["clocksource"], ("tsc", "tsc-early", "kvm-clock"))
            runs = [m for m in messages if m["type"] == "run-finished"]
            self.assertEqual([m["seq"] for m in runs], [1, 2, 3])
            for run in runs:
                elapsed = next(s for s in run["samples"] if s["metric"] == "elapsed")
                self.assertGreater(elapsed["value"], 0)
            console = host.console.read_text(errors="replace")
            self.assertIn("Linux version", console)
            self.assertIn("bootconsole [earlyser0] enabled", console, "what comes before the console's driver is there too")
            self.assertIn("Restarting system", console, "the console is whole, up to the end")
            self.assertEqual(finished.get("console", []), [])

    def test_counted_runs_tell_what_draining_costs(self):
        with Host() as host:
            order = {"seq": 1, "workload": "ipcns-exit", "point": 0, "with": {"children": 50}, "iteration": 0, "counters": ["task-clock"]}
            plan = {"runs": [order], "drain_limit_ns": 60 * 10**9}
            finished, messages = host.boot(self.kernel, plan=plan, cpus=2, memory_bytes=256 * MEBIBYTE)
            self.assertEqual(finished["outcome"], "ok", finished)
            samples = {s["metric"]: s.get("value") for m in messages if m["type"] == "run-finished" for s in m["samples"]}
            self.assertEqual(set(samples), {"task-clock", "counted-elapsed", "machine-busy", "drain-busy"})
            self.assertGreater(samples["drain-busy"], 0)

    def test_a_profile_says_where_the_kernel_was(self):
        groups = [
            {"name": "open", "symbols": ["*open*", "path_*", "link_path_walk", "lookup_*"]},
            {"name": "copies", "symbols": ["*copy*", "memcpy*", "clear_page*", "vsnprintf", "format_decode"],
             "callers": ["*"]},
            {"name": "copies-by-nobody", "symbols": ["*copy*", "vsnprintf"], "callers": ["kernel_restart"]},
            {"name": "no-such", "symbols": ["spin_lok"]},
        ]
        with Host() as host:
            samples, profile = profiled(host, self.kernel, groups, memory_bytes=256 * MEBIBYTE)
            self.assertEqual(set(samples), {"share:open", "share:copies", "share:copies-by-nobody", "share:no-such",
                                            "profile-samples"}, "none of the workload's own")
            total = samples["profile-samples"]["value"]
            self.assertEqual(total, sum(s["samples"] for s in profile))
            self.assertGreater(total, 100)
            self.assertGreater(samples["share:copies"]["value"], 0)
            self.assertEqual(samples["share:copies-by-nobody"]["value"], 0)
            self.assertIn("no function of this kernel is called spin_lok", samples["share:no-such"]["reason"])
            symbols = {s["symbol"] for s in profile}
            self.assertIn("[user]", symbols)
            self.assertIn("vsnprintf", symbols, "/proc/cpuinfo is text, made anew by each reader")
            unknown = sum(s["samples"] for s in profile if s["symbol"] == "[unknown]")
            self.assertLess(unknown / total, 0.01)
            # show_cpuinfo has its text made by seq_printf, which is not in the group.
            callers = callers_of("vsnprintf", profile)
            self.assertIn("seq_printf", callers)
            self.assertNotIn("", callers)

    def test_a_kernel_that_hides_its_symbols_has_no_profile(self):
        with Host() as host:
            samples, profile = profiled(host, self.kernel, [{"name": "open", "symbols": ["*open*"]}],
                                        memory_bytes=256 * MEBIBYTE, command_line="sysctl.kernel.kptr_restrict=2")
            self.assertEqual(profile, [])
            for metric in ("share:open", "profile-samples"):
                self.assertNotIn("value", samples[metric])
                self.assertIn("kptr_restrict", samples[metric]["reason"])

    def test_the_same_kernel_speaks_on_a_q35_without_a_driver_for_pci(self):
        with Host() as host:
            finished, messages = host.boot(self.kernel, runs=1, machine="q35", memory_bytes=256 * MEBIBYTE)
            self.assertEqual(finished["outcome"], "ok", finished)
            self.assertEqual(next(m for m in messages if m["type"] == "boot-hello")["channel"], "ttyS1")

    def test_timers_are_looked_at_when_the_console_is_quiet(self):
        with Host() as host:
            options = {"memory_bytes": 256 * MEBIBYTE, "cpus": 2}
            finished, _ = host.boot(self.kernel, command_line="nolapic_timer loglevel=1", **options)
            self.assertEqual(finished["outcome"], "infra-error", finished)
            self.assertIn("high-resolution timers", finished["detail"])
            finished, _ = host.boot(self.kernel, attempt="A2", command_line="highres=off loglevel=1", **options)
            self.assertEqual(finished["outcome"], "ok", "the experiment asked for it")

    def test_a_cpu_that_the_kernel_leaves_out(self):
        with Host() as host:
            finished, _ = host.boot(self.kernel, command_line="disable_cpu_apicid=1", cpus=2, memory_bytes=256 * MEBIBYTE)
            self.assertEqual(finished["outcome"], "boot-failure", finished)
            self.assertIn("the kernel brought up 1 of 2 CPUs", finished["detail"])

    def test_a_panic_is_the_kernels_fault(self):
        with Host() as host:
            finished, _ = host.boot(self.kernel, command_line="rdinit=/none", memory_bytes=128 * MEBIBYTE)
            self.assertEqual(finished["outcome"], "kernel-crash", finished)
            self.assertTrue(finished["detail"].startswith("Kernel panic - not syncing: "), finished["detail"])
            self.assertEqual([event["kind"] for event in finished["console"]], ["panic"])

    def test_an_emulator_killed_while_it_works(self):
        with Host() as host:
            host.request(self.kernel, runs=5, memory_bytes=256 * MEBIBYTE)
            host.until("run-finished")
            os.kill(host.emulator(), signal.SIGKILL)
            finished = host.until("boot-finished")[-1]
            self.assertEqual(finished["outcome"], "infra-error")
            self.assertGreaterEqual(finished["runs"], 1)


class DebianKernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="kab-debian-")
        cls.addClassCleanup(folder.cleanup)
        cls.kernel, cls.modules = debian_kernel(folder.name)

    def boot(self, **options):
        with Host() as host:
            finished, messages = host.boot(self.kernel, runs=1, memory_bytes=512 * MEBIBYTE, boot_limit_ns=180 * 10**9, **options)
            self.assertEqual(finished["outcome"], "ok", finished)
            return next(m for m in messages if m["type"] == "boot-hello")

    def test_speaks_over_virtio_from_its_modules(self):
        said = self.boot(modules=str(self.modules))
        self.assertEqual((said["machine"], said["channel"]), ("q35", "virtio"))
        self.assertIn("-amd64", said["agent"]["release"])

    def test_speaks_over_the_second_serial_line_without(self):
        said = self.boot()
        self.assertEqual((said["machine"], said["channel"]), ("q35", "ttyS1"))
        self.assertTrue(said["agent"]["high_resolution_timers"])

    def test_tells_callers_by_its_unwinding_tables(self):
        with Host() as host:
            samples, profile = profiled(host, self.kernel, [{"name": "text", "symbols": ["vsnprintf"], "callers": ["seq_*"]}],
                                        memory_bytes=512 * MEBIBYTE, boot_limit_ns=180 * 10**9)
            self.assertGreater(samples["share:text"]["value"], 0)
            self.assertIn("seq_printf", callers_of("vsnprintf", profile))


if __name__ == "__main__":
    unittest.main()
