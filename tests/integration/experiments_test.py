"""The four reference experiments in a reduced size: real kernels, their checks, every workload, the report.

Kernels are what costs time here, and those in the cache cost none. So all arms and all debug variants are built, in an
order and while there is time: first the baseline, the arm that needs least beside it, and the arms that the change
touches, for which the time does not count; then the other arms; then the debug variants. What is in every arm, as
vm.config is, touches all of them; debug.config and patches of debug variants touch these, too. An experiment has 3
minutes, 10 if the change touches it, or KAB_BUILD_MINUTES; with KAB_ALL_ARMS=1 it takes as long as it takes. After
KAB_BUILD_UNTIL (seconds since 1970) two arms are enough for any: a run of all tests must end some time. What was left
out is in the line that each test prints, which scripts/test.sh repeats in its summary.

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
SOFTWARE_COUNTERS = ["task-clock", "context-switches", "cpu-migrations", "page-faults"]  # no machine lacks them
COUNTERS = [*SOFTWARE_COUNTERS, "cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "instructions",
            "branches", "branch-misses"]
# Of a kernel with vm.config and nothing else, the smallest that these experiments have.
OBJECTS_OF_A_FULL_BUILD = 760
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


def files_of_debug(spec):
    """What debug variants have on top."""
    debug = spec.get("debug")
    if debug is False:
        return []
    return files_of({"config": ["debug.config"], **(debug or {})})


def order_arms(spec, changed):
    """(those that must be built, the others), each in the order of the file."""
    arms = spec["arms"]
    names = list(arms)
    if touched(files_of(spec["kernel"]) + files_of_debug(spec), changed):
        return names, []
    judged_by_baseline = [n for n in names[1:] if (arms[n] or {}).get("against", names[0]) == names[0]]
    required = {names[0], min(judged_by_baseline, key=lambda n: len(files_of(arms[n] or {})))}
    for name in names:
        if touched(files_of(arms[name] or {}), changed):
            required |= {name, (arms[name] or {}).get("against", names[0])}
    return [n for n in names if n in required], [n for n in names if n not in required]


def is_touched(name, spec, changed):
    """The experiment: an arm of it, what all its arms have in common, or what debug variants have on top."""
    every = [spec["kernel"], *(arm or {} for arm in spec["arms"].values())]
    files = {f for part in every for f in files_of(part)} | {*files_of_debug(spec), f"patches/linux-6.1/{name}"}
    return touched(files, changed)


def must_be_ready(spec, required, changed):
    """Names of kernels that are built however long it takes."""
    variants = required if touched(files_of_debug(spec), changed) else []
    return {*required, *(f"{arm}'debug" for arm in variants)}


def increments(kernels):
    """{arm: objects compiled} of the kernels built in a work tree right after another one of the same evaluation.

    `kernels` are (arm, work tree, objects) in the order in which they were built. What came from the cache has no
    objects, and what the first one found in its work tree is not known.
    """
    seen, found = set(), {}
    for arm, tree, objects in kernels:
        if objects and tree in seen:
            found[arm] = objects
        if objects:
            seen.add(tree)
    return found


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
    kept = {key: spec["decide"][key] for key in ("primary", "at", "margin") if key in spec["decide"]}
    spec["decide"] = {**kept, "fixed": 2, "seed": 3}
    return yaml.safe_dump(spec, sort_keys=False)


class Choice(unittest.TestCase):
    """What is built first."""

    def test_without_a_change_the_baseline_and_what_needs_least_beside_it(self):
        for changed in (None, set(), {"daemon/main.cpp"}):
            spec = read_experiment("proc-read")
            self.assertEqual(order_arms(spec, changed), (["spinlock", "mainline"], ["moved-kfree", "atomic"]))

    def test_arms_that_the_change_touches_and_what_they_are_judged_against(self):
        arms = {"base": {"config": ["a.config"]}, "plain": {}, "new": {"patches": ["one"], "against": "old"},
                "old": {"patches": ["two/0001-x.patch"]}, "last": {"patches": ["three"]}}
        spec = {"kernel": {"config": ["all.config"]}, "arms": arms}
        self.assertEqual(order_arms(spec, {"patches/one/0002-y.patch"}), (["base", "plain", "new", "old"], ["last"]))
        self.assertEqual(order_arms(spec, {"patches/two/0002-y.patch"}), (["base", "plain"], ["new", "old", "last"]))
        self.assertEqual(must_be_ready(spec, ["base", "new"], {"patches/one/0002-y.patch"}), {"base", "new"})

    def test_all_arms_where_the_change_touches_what_is_in_all(self):
        for name, path in (("ipc-sem", "configs/kernel/ipc-sem.config"), ("pid-ns", "configs/kernel/vm.config")):
            spec = read_experiment(name)
            self.assertEqual(order_arms(spec, {path}), (list(spec["arms"]), []), path)
            self.assertEqual(must_be_ready(spec, list(spec["arms"]), {path}), set(spec["arms"]), path)

    def test_all_debug_variants_where_the_change_touches_what_these_have_on_top(self):
        of_removal = "patches/linux-6.1/proc-read/test/0001-proc-an-entry-that-can-be-removed-for-a-self-check.patch"
        for name, path in (("ipc-ns", "configs/kernel/debug.config"), ("proc-read", "configs/kernel/debug.config"),
                           ("proc-read", of_removal)):
            spec = read_experiment(name)
            arms = list(spec["arms"])
            self.assertEqual(order_arms(spec, {path}), (arms, []), path)
            self.assertEqual(must_be_ready(spec, arms, {path}), {*arms, *(f"{arm}'debug" for arm in arms)}, path)
        without = {**read_experiment("ipc-ns"), "debug": False}
        self.assertNotEqual(order_arms(without, {"configs/kernel/debug.config"})[1], [])

    def test_an_increment_is_what_was_built_after_another_one_in_the_same_tree(self):
        self.assertEqual(increments([("a", "t", 763), ("b", "t", 14), ("a'debug", "u", 817), ("b'debug", "u", 3)]),
                         {"b": 14, "b'debug": 3})
        self.assertEqual(increments([("a", "t", 0), ("b", "t", 647), ("c", "t", 0), ("d", "t", 200)]), {"d": 200})

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
        required, others = order_arms(spec, self.changed)
        needed = must_be_ready(spec, required, self.changed)
        least = set(order_arms(spec, set())[0])
        deadline = time.monotonic() + 60 * minutes_to_build(is_touched(name, spec, self.changed))
        until = float(os.environ.get("KAB_BUILD_UNTIL", math.inf))
        ready = self.submit(name, required + others, True,
                            lambda ready: (time.monotonic() > deadline and needed <= set(ready))
                            or (time.time() > until and least <= set(ready)))
        self.check_increments(name)
        arms = [arm for arm in required + others if arm in ready]
        left_out = [arm for arm in required + others if arm not in ready]
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

    def check_increments(self, name):
        """Where arms differ by a few files of ipc/, building one after another compiles less than a quarter."""
        rows = self.kab.query(
            "select arm.name, json_extract(kernel.frozen, '$.family'), kernel.objects from arm "
            "join kernel on kernel.id = arm.kernel_id where arm.status = 'ready' "
            "order by kernel.built_at, arm.position")
        compiled = increments([(arm, tree, int(objects)) for arm, tree, objects in rows])
        print(f"increments of {name}: {compiled or 'none was built'}")
        if name in ("ipc-ns", "ipc-sem"):
            self.assertEqual({a: n for a, n in compiled.items() if n >= OBJECTS_OF_A_FULL_BUILD / 4}, {})

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
        text = " ".join(done.stdout.split())
        self.check_answer(name, text, arms)
        return text, arms

    def check_answer(self, name, text, arms):
        """The question is answered at once, by the primary metric, and that was measured in every arm."""
        spec = read_experiment(name)
        baseline = next(iter(spec["arms"]))
        pairs = "|".join(re.escape(f"{arm} against {(spec['arms'][arm] or {}).get('against', baseline)}: ")
                         for arm in arms if arm != baseline)
        primary = spec["decide"]["primary"]
        self.assertRegex(text, f"{re.escape(spec['question'])} ({pairs}).{{0,80}}{re.escape(primary)}")
        self.assert_measured(*primary.split("/"), arms)

    def assert_measured(self, workload, metric, arms):
        """No run that counts is without a value, and every arm and the control have some above zero."""
        rows = self.kab.query(
            "select arm, sum(value is null), max(value) > 0 from v_sample "
            f"where workload = '{workload}' and metric = '{metric}' and not warmup group by arm")
        self.assertEqual({arm: [int(missing), int(found or 0)] for arm, missing, found in rows},
                         {arm: [0, 1] for arm in [*arms, "A'"]}, f"{workload}/{metric}")

    def shares(self, metric):
        """{(workload, arm): its greatest value}; a run so small may be over before it was sampled in the kernel."""
        rows = self.kab.query(f"select workload, arm, max(value) from v_sample where metric = 'share:{metric}' "
                              "and value is not null group by workload, arm")
        return {(workload, arm): float(value) for workload, arm, value in rows}

    def consoles_of_checks(self):
        """{arm: all that its kernel said in the checks' block}"""
        report = json.loads(self.kab.run("report", "last", "--format", "json").stdout)
        return {r["arm"]: (self.kab.state / "artifacts" / r["console"]).read_text(errors="replace")
                for r in report["checks"]["results"]}

    def test_ipc_ns(self):
        text, arms = self.run_experiment("ipc-ns")
        # The counters' table of each point: a value or a reason in every row.
        for counter in COUNTERS:
            rows = re.findall(rf" {counter}(?: [0-9.,]+[^±]{{0,4}} ±\S+| absent \[\d\])", text)
            self.assertGreaterEqual(len(rows), 2, counter)
        rows = self.kab.query("select distinct metric from v_sample where kind = 'counted'")
        self.assertLessEqual(set(COUNTERS), {row[0] for row in rows})
        missing = self.kab.query("select distinct metric from v_sample where kind = 'counted' and value is null")
        self.assertEqual({row[0] for row in missing} & set(SOFTWARE_COUNTERS), set())
        self.assert_measured("ipcns-exit", "task-clock", arms)

    def test_proc_read(self):
        text, arms = self.run_experiment("proc-read")
        self.assertIn("oversubscribed", text)
        self.assertIn("share:use-count", text)
        # How long the lock is waited for, two CPUs need not show.
        self.assertEqual(set(self.shares("use-count")), {("proc-read", arm) for arm in [*arms, "A'"]})

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
        spinlock = self.shares("spinlock")
        self.assertEqual(set(spinlock), {(w, arm) for w in ("semop-multi", "postwait") for arm in [*arms, "A'"]})
        self.assertGreater(spinlock["semop-multi", "locked-checks"], 0)
        self.assertEqual(self.kab.query("select distinct metric, arm from v_sample where workload = 'semop-multi' "
                                        "and metric like 'share:%' and value is null"), [])
        profiled = self.kab.query("select arm, sum(samples) > 0 from v_profile group by arm")
        self.assertEqual({arm: int(found) for arm, found in profiled}, {arm: 1 for arm in [*arms, "A'"]})
        audited = self.kab.query(
            f"select distinct arm from v_profile where symbol in ({', '.join(map(repr, AUDITED))}) and samples > 0")
        self.assertEqual({row[0] for row in audited}, {*arms, "A'"}, "the checks have something to do")
        kinds = self.kab.query("select distinct json_extract(environment, '$.lock_kind') from v_boot")
        self.assertEqual(kinds, [["queued"]])


if __name__ == "__main__":
    unittest.main()
