"""The four reference experiments in a reduced size: real kernels, their checks, every workload, the report.

Kernels are what costs time here. So of each experiment two arms are built, the baseline and one more, and those that
the change touches: arms one of whose patches or fragments differs between KAB_CHANGED_SINCE (a revision, by default the
last commit's parent) and the working tree. The debug variants are built for ipc-ns, and for an experiment whose patches
or fragments are touched. KAB_ALL_ARMS=1 builds everything, and so does a revision that is given and not there.
"""

import os
import subprocess
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
            "with": {"threads": 16, "semaphores": 8, "duration": 100}, "iterations": 1, "warmup": 0
        },
        "postwait": {"with": {"loops": 30, "scan": 16}, "sweep": {"users": [2, 8]}, "iterations": 1, "warmup": 0},
    },
}
COUNTERS = ["task-clock", "context-switches", "cpu-migrations", "page-faults", "cycles", "stalled-cycles-frontend",
            "stalled-cycles-backend", "instructions", "branches", "branch-misses"]


EVERYTHING = None  # touched: all there is


def changed_files():
    """Paths under the repository that the change touches, new files too. Without any history: none."""
    since = os.environ.get("KAB_CHANGED_SINCE")
    changed = set()
    for command in (["diff", "--name-only", since or "HEAD~1"], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(["git", "-C", SOURCE, *command], capture_output=True, text=True, check=False)
        if done.returncode != 0 and since:
            return EVERYTHING
        changed |= set(done.stdout.split())
    return EVERYTHING if os.environ.get("KAB_ALL_ARMS") == "1" else changed


def files_of(arm):
    """What of the repository is in this arm and not in others: patches, or folders of them, and fragments."""
    patches = [f"patches/{path}" for path in arm.get("patches", [])]
    return patches + [f"configs/kernel/{path}" for path in arm.get("config", [])]


def touched(files, changed):
    if changed is EVERYTHING:
        return True
    return any(path == file or path.startswith(file + "/") for file in files for path in changed)


def choose_arms(arms, changed):
    """The baseline, the arm that needs least beside it, what is touched, and what those are judged against."""
    names = list(arms)
    if changed is EVERYTHING:
        return names
    judged_by_baseline = [n for n in names[1:] if (arms[n] or {}).get("against", names[0]) == names[0]]
    chosen = {names[0], min(judged_by_baseline, key=lambda n: len(files_of(arms[n] or {})))}
    for name in names:
        if touched(files_of(arms[name] or {}), changed):
            chosen |= {name, (arms[name] or {}).get("against", names[0])}
    return [name for name in names if name in chosen]


def reduced(name, changed):
    """(spec as text, its arms)"""
    spec = yaml.safe_load((SOURCE / f"configs/experiments/{name}.yaml").read_text())
    arms = choose_arms(spec["arms"], changed)
    # What all arms have in common makes no arm more worth building than another, but does for the debug variants.
    common = set(files_of(spec["kernel"])) | {"configs/kernel/debug.config"}
    patches = common | {f"patches/linux-6.1/{name}"} | {f for arm in spec["arms"].values() for f in files_of(arm or {})}
    if name != "ipc-ns" and not touched(patches, changed):
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
    return yaml.safe_dump(spec, sort_keys=False), arms


class Experiments(unittest.TestCase):
    changed = changed_files()

    def setUp(self):
        self.kab = Kab()
        self.addCleanup(self.kab.close)

    def run_experiment(self, name):
        text, arms = reduced(name, self.changed)
        done = self.kab.run("run", self.kab.write(f"{name}.yaml", text), timeout=2700)
        self.assertIn(done.returncode, (0, 1, 4), done.stdout + done.stderr)
        self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 78], [])
        self.assertNotRegex(done.stdout, r"\bnan\b|\binf\b")
        self.assertIn("emulated: not evidence for hardware", done.stdout)
        self.assertEqual(self.kab.query("select name, status, detail from arm where status <> 'ready'"), [])
        checked = self.kab.query("select count(*) from v_boot where block = 0")
        self.assertGreaterEqual(int(checked[0][0]), len(arms))
        self.assertEqual(self.kab.query("select * from v_boot where block = 0 and outcome <> 'ok'"), [])
        # Every metric of every arm has a value or a reason.
        self.assertEqual(self.kab.query("select * from v_sample where value is null and reason is null"), [])
        self.assertEqual({row[0] for row in self.kab.query("select distinct arm from v_sample")}, {*arms, "A'"})
        return " ".join(done.stdout.split()), arms

    def test_ipc_ns(self):
        text, _ = self.run_experiment("ipc-ns")
        for counter in COUNTERS:
            self.assertIn(counter, text)
        rows = self.kab.query("select distinct metric from v_sample where kind = 'counted'")
        self.assertLessEqual(set(COUNTERS), {row[0] for row in rows})

    def test_proc_read(self):
        text, _ = self.run_experiment("proc-read")
        self.assertIn("oversubscribed", text)

    def test_pid_ns(self):
        self.run_experiment("pid-ns")
        rates = self.kab.query("select distinct workload from v_sample where metric = 'rate' and value > 0")
        self.assertLessEqual({"spawn", "execl", "shell"}, {row[0] for row in rates})

    def test_ipc_sem(self):
        text, arms = self.run_experiment("ipc-sem")
        self.assertIn("share:spinlock", text)
        profiled = self.kab.query("select arm, sum(samples) > 0 from v_profile group by arm")
        self.assertEqual({arm: int(found) for arm, found in profiled}, {arm: 1 for arm in [*arms, "A'"]})
        kinds = self.kab.query("select distinct json_extract(environment, '$.lock_kind') from v_boot")
        self.assertEqual(kinds, [["queued"]])


if __name__ == "__main__":
    unittest.main()
