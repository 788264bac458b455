"""The four reference experiments in a reduced size: real kernels, their checks, every workload, the report.

Kernels are what costs time here, and those in the cache cost none. So all arms and all debug variants are built, in an
order and while there is time: first the baseline, the arm that needs least beside it, and the arms that the change
touches, for which the time does not count; then the other arms; then the debug variants. An experiment has 3 minutes,
10 if the change touches it, or KAB_BUILD_MINUTES; with KAB_ALL_ARMS=1 it takes as long as it takes. What was left out
is in the line that each test prints, which scripts/test.sh repeats in its summary.

The change touches an arm if one of its patches or fragments differs between KAB_CHANGED_SINCE (a revision, by default
the last commit's parent) and the working tree. In a clone without history nobody knows, and the line says so.
"""

import json
import math
import os
import re
import subprocess
import time
import unittest

import yaml

from kab_env import SOURCE, Kab

# The sizes that one boot of a few seconds takes; all else is as the file has it.
SIZES = {
    "ipc-ns": {"ipcns-exit": {"with": {"children": 30}, "iterations": 1, "warmup": 0}},
    "proc-read": {"proc-read": {"with": {"loops": 100}, "sweep": {"tasks": [1, 4]}, "iterations": 1, "warmup": 0}},
    "pid-ns": {
        "spawn": {"with": {"loops": 50}, "iterations": 1, "warmup": 0},
        "execl": {"with": {"loops": 20}, "iterations": 1, "warmup": 0},
        "shell": {"sweep": {"concurrency": [1, 2]}, "iterations": 1, "warmup": 0},
        "ps": {"with": {"processes": 20, "loops": 1}, "iterations": 1, "warmup": 0},
    },
    "ipc-sem": {
        "semop-multi": {
            "with": {"threads": 16, "semaphores": 8, "duration": 300}, "iterations": 1, "warmup": 0
        },
        "postwait": {"with": {"loops": 30, "scan": 16}, "sweep": {"users": [2, 8]}, "iterations": 1, "warmup": 0},
    },
}
COUNTERS = ["task-clock", "context-switches", "cpu-migrations", "page-faults", "cycles", "stalled-cycles-frontend",
            "stalled-cycles-backend", "instructions", "branches", "branch-misses"]
# Functions of the kernel that run in a system call only if there is an audit rule, which the agent loads.
AUDITED = ["__audit_ipc_obj", "audit_filter_syscall", "audit_filter_rules"]


def changed_files():
    """Paths under the repository that the change touches, new files too, but no prose; None without history."""
    since = os.environ.get("KAB_CHANGED_SINCE")
    changed = set()
    for command in (["diff", "--name-only", since or "HEAD~1"], ["ls-files", "--others", "--exclude-standard"]):
        # The checkout may be another user's, as in a container.
        git = ["git", "-c", f"safe.directory={SOURCE.resolve()}", "-C", SOURCE]
        done = subprocess.run([*git, *command], capture_output=True, text=True, check=False)
        if done.returncode != 0 and since:
            raise AssertionError(f"KAB_CHANGED_SINCE={since}: {done.stderr.strip()}")
        if done.returncode != 0:
            return None
        changed |= {path for path in done.stdout.split() if not path.endswith(".md")}
    return changed


def files_of(arm):
    """What of the repository is in this arm and not in others: patches, or folders of them, and fragments."""
    patches = [f"patches/{path}" for path in arm.get("patches", [])]
    return patches + [f"configs/kernel/{path}" for path in arm.get("config", [])]


def touched(files, changed):
    return any(path == file or path.startswith(file + "/") for file in files for path in changed or ())


def read_experiment(name):
    return yaml.safe_load((SOURCE / f"configs/experiments/{name}.yaml").read_text())


def order_arms(arms, changed):
    """(those that must be built, the others), each in the order of the file."""
    names = list(arms)
    judged_by_baseline = [n for n in names[1:] if (arms[n] or {}).get("against", names[0]) == names[0]]
    required = {names[0], min(judged_by_baseline, key=lambda n: len(files_of(arms[n] or {})))}
    for name in names:
        if touched(files_of(arms[name] or {}), changed):
            required |= {name, (arms[name] or {}).get("against", names[0])}
    return [n for n in names if n in required], [n for n in names if n not in required]


def is_touched(name, spec, changed):
    """The experiment: an arm of it, what all its arms have in common, or what debug variants have on top."""
    every = [spec["kernel"], *(arm or {} for arm in spec["arms"].values())]
    files = {f for part in every for f in files_of(part)} | {"configs/kernel/debug.config", f"patches/linux-6.1/{name}"}
    return touched(files, changed)


def minutes_to_build(is_touched):
    if os.environ.get("KAB_ALL_ARMS") == "1":
        return math.inf
    return float(os.environ.get("KAB_BUILD_MINUTES", 10 if is_touched else 3))


def reduced(name, arms, debug):
    """The experiment as text, with these arms, in this order, and with their debug variants or without."""
    spec = read_experiment(name)
    if not debug:
        spec["debug"] = False
        # Checks that only a debug kernel can make are not made then.
        spec["checks"] = [c for c in spec["checks"] if not (isinstance(c, dict) and c.get("only") == "debug")]
    spec["arms"] = {arm: spec["arms"][arm] or {} for arm in arms}
    spec["host"]["accel"] = "tcg"  # the same everywhere
    for workload in spec["workloads"]:
        size = SIZES[name][workload["workload"]]
        for key, value in size.items():
            workload[key] = {**workload.get(key, {}), **value} if isinstance(value, dict) else value
    spec["decide"] = {"primary": spec["decide"]["primary"], "margin": spec["decide"]["margin"], "fixed": 2, "seed": 3}
    return yaml.safe_dump(spec, sort_keys=False)


class Choice(unittest.TestCase):
    """What is built first."""

    def test_without_a_change_the_baseline_and_what_needs_least_beside_it(self):
        for changed in (None, set(), {"daemon/main.cpp"}):
            arms = read_experiment("proc-read")["arms"]
            self.assertEqual(order_arms(arms, changed), (["spinlock", "mainline"], ["moved-kfree", "atomic"]))

    def test_arms_that_the_change_touches_and_what_they_are_judged_against(self):
        arms = {"base": {"config": ["a.config"]}, "plain": {}, "new": {"patches": ["one"], "against": "old"},
                "old": {"patches": ["two/0001-x.patch"]}, "last": {"patches": ["three"]}}
        self.assertEqual(order_arms(arms, {"patches/one/0002-y.patch"}), (["base", "plain", "new", "old"], ["last"]))
        self.assertEqual(order_arms(arms, {"patches/two/0002-y.patch"}), (["base", "plain"], ["new", "old", "last"]))

    def test_an_experiment_is_touched_by_what_its_arms_have_in_common_too(self):
        spec = read_experiment("ipc-sem")
        for path in ("configs/kernel/ipc-sem.config", "configs/kernel/debug.config",
                     "patches/linux-6.1/ipc-sem/0001-ipc-sem-one-lock-for-each-set.patch"):
            self.assertTrue(is_touched("ipc-sem", spec, {path}), path)
        for changed in (None, set(), {"patches/linux-6.1/ipc-ns/0001-x.patch", "configs/experiments/ipc-sem.yaml"}):
            self.assertFalse(is_touched("ipc-sem", spec, changed), changed)


class Experiments(unittest.TestCase):
    changed = changed_files()

    def setUp(self):
        self.new_kab()

    def new_kab(self):
        self.kab = Kab()
        self.addCleanup(self.kab.close)

    def submit(self, name, arms, debug, enough=lambda ready: False):
        """What of it is built, as a rule all: then the evaluation goes on."""
        return self.kab.build(self.kab.write(f"{name}.yaml", reduced(name, arms, debug)), enough)

    def build(self, name):
        """Submits the experiment with what could be built in time. (its arms, whether with debug variants)"""
        spec = read_experiment(name)
        required, others = order_arms(spec["arms"], self.changed)
        deadline = time.monotonic() + 60 * minutes_to_build(is_touched(name, spec, self.changed))
        ready = self.submit(name, required + others, True,
                            lambda ready: time.monotonic() > deadline and set(required) <= set(ready))
        arms = [arm for arm in required + others if arm in ready]
        left_out = [arm for arm in others if arm not in ready]
        debug = all(f"{arm}'debug" in ready for arm in arms)
        if left_out or not debug:
            self.new_kab()
            self.submit(name, arms, debug)
        told = f"{len(arms)} arms, {'with' if debug else 'WITHOUT'} their debug variants"
        if left_out:
            told += f"; NOT BUILT: {', '.join(left_out)}"
        if self.changed is None:
            told += "; no history: what the change touches is not known"
        return arms, debug, told

    def evaluate(self, name, arms, debug):
        """`kab watch` of what was submitted."""
        done = self.kab.run("watch", "last", timeout=2700)
        if resets := self.kab.resets():
            print(f"once more: {resets}")
            self.new_kab()
            self.submit(name, arms, debug)
            done = self.kab.run("watch", "last", timeout=2700)
        return done

    def run_experiment(self, name):
        """(report without line breaks, arms)"""
        started = time.monotonic()
        arms, debug, told = self.build(name)
        built = time.monotonic()
        done = self.evaluate(name, arms, debug)
        print(f"experiment {name}: {built - started:.0f} s to build, {time.monotonic() - built:.0f} s to run; {told}")
        self.assertIn(done.returncode, (0, 1, 4), done.stdout + done.stderr)
        self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 78], [])
        self.assertNotRegex(done.stdout, r"\bnan\b|\binf\b")
        self.assertIn("emulated: not evidence for hardware", done.stdout)
        self.assertEqual(self.kab.query("select name, status, detail from arm where status <> 'ready'"), [])
        checked = {*arms, *(f"{arm}'debug" for arm in arms if debug)}
        self.assertEqual({row[0] for row in self.kab.query("select arm from v_boot where block = 0")}, checked)
        self.assertEqual(self.kab.query("select * from v_boot where block = 0 and outcome <> 'ok'"), [])
        # Every metric of every arm has a value or a reason.
        self.assertEqual(self.kab.query("select * from v_sample where value is null and reason is null"), [])
        self.assertEqual({row[0] for row in self.kab.query("select distinct arm from v_sample")}, {*arms, "A'"})
        return " ".join(done.stdout.split()), arms

    def consoles_of_checks(self):
        """{arm: all that its kernel said in the checks' block}"""
        report = json.loads(self.kab.run("report", "last", "--format", "json").stdout)
        return {r["arm"]: (self.kab.state / "artifacts" / r["console"]).read_text(errors="replace")
                for r in report["checks"]["results"]}

    def test_ipc_ns(self):
        text, _ = self.run_experiment("ipc-ns")
        # The counters' table of each point: a value or a reason in every row.
        for counter in COUNTERS:
            rows = re.findall(rf" {counter}(?: [0-9.,]+[^±]{{0,4}} ±\S+| absent \[\d\])", text)
            self.assertGreaterEqual(len(rows), 2, counter)
        rows = self.kab.query("select distinct metric from v_sample where kind = 'counted'")
        self.assertLessEqual(set(COUNTERS), {row[0] for row in rows})

    def test_proc_read(self):
        text, _ = self.run_experiment("proc-read")
        self.assertIn("oversubscribed", text)
        self.assertIn("share:use-count", text)

    def test_pid_ns(self):
        self.run_experiment("pid-ns")
        # Parts of the check that are left out on a machine that is not the agent's own.
        silent = [arm for arm, console in self.consoles_of_checks().items() if "memory steady" not in console]
        self.assertEqual(silent, [])
        rates = self.kab.query("select distinct workload from v_sample where metric = 'rate' and value > 0")
        self.assertLessEqual({"spawn", "execl", "shell"}, {row[0] for row in rates})

    def test_ipc_sem(self):
        text, arms = self.run_experiment("ipc-sem")
        self.assertIn("share:spinlock", text)
        profiled = self.kab.query("select arm, sum(samples) > 0 from v_profile group by arm")
        self.assertEqual({arm: int(found) for arm, found in profiled}, {arm: 1 for arm in [*arms, "A'"]})
        audited = self.kab.query(
            f"select distinct arm from v_profile where symbol in ({', '.join(map(repr, AUDITED))}) and samples > 0")
        self.assertEqual({row[0] for row in audited}, {*arms, "A'"}, "the checks have something to do")
        kinds = self.kab.query("select distinct json_extract(environment, '$.lock_kind') from v_boot")
        self.assertEqual(kinds, [["queued"]])


if __name__ == "__main__":
    unittest.main()
