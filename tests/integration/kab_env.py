"""A kab of its own for each test: a state directory in a temporary folder, the shared kernel cache."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("KAB_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("KAB_BIN_DIR", SOURCE / "build/dev/bin"))
TARBALL = pathlib.Path("/usr/src/linux-source-6.1.tar.xz")

# The name of a socket has at most 107 characters, some 50 of them below the folder for temporary files.
if len(tempfile.gettempdir()) > 50:
    os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"


def small_spec(name="small", iterations=2, looks="[2, 3]", children=8, arms=None, extra=""):
    """ipc-ns with few children and few blocks; the kernels are those of configs/experiments/ipc-ns.yaml."""
    arms = arms or (
        "  inline-free: {patches: [linux-6.1/ipc-ns/0001-ipc-free-the-namespace-inline-in-put_ipc_ns.patch]}\n"
        "  deferred-free: {}\n"
    )
    return (
        f"experiment: {name}\n"
        "question: Does it run?\n"
        "kernel:\n"
        f"  source: {{tarball: {TARBALL}}}\n"
        "  config: [vm.config]\n"
        f"arms:\n{arms}"
        "workloads:\n"
        "  - workload: ipcns-exit\n"
        f"    with: {{children: {children}}}\n"
        f"    iterations: {iterations}\n"
        "    warmup: 1\n"
        "    counters: [task-clock, context-switches, cycles]\n"
        "host: {kind: qemu, cpus: 2, memory: 256M}\n"
        f"decide: {{primary: ipcns-exit/elapsed, margin: 5%, looks: {looks}, seed: 11}}\n"
        f"{extra}"
    )


def descendants_of(marker):
    """Processes whose environment has KAB_TEST_MARK=marker: everything a test's kab started, however far away."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if f"KAB_TEST_MARK={marker}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    found.pop(os.getpid(), None)
    return found


def alive(pid):
    """False for a process that has ended, also while nobody has asked for its status."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds, what, pause=0.05):
    """Polls a condition of another process; there is no event to wait for across process borders."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise AssertionError(f"not within {seconds} s: {what}")


class Kab:
    """Runs the kab command in a state directory of its own and knows what it left running."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="kab-test-"))
        self.state = self.directory / "state"
        self.mark = self.directory.name
        # A kab-host that a test kills leaves its scratch folder behind (the next one sweeps it): keep it in here.
        scratch = self.directory / "tmp"
        scratch.mkdir()
        self.env = dict(
            os.environ,
            KAB_STATE_DIR=str(self.state),
            KAB_TEST_MARK=self.mark,
            TMPDIR=str(scratch),
            LC_ALL="C.UTF-8",
        )

    def close(self):
        for pid in self.processes("kabd"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not descendants_of(self.mark), 30, f"everything has ended: {descendants_of(self.mark)}")
        shutil.rmtree(self.directory, ignore_errors=True)

    def make_state(self):
        """The state directory, made before kab makes it: for a file system of its own."""
        self.state.mkdir()
        return self.state

    def write(self, name, text):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def start(self, *args, **kwargs):
        return subprocess.Popen(
            [BIN / "kab", *map(str, args)],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.directory,
            **kwargs,
        )

    def run(self, *args, timeout=1500):
        process = self.start(*args)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def build(self, spec, enough=lambda ready: False):
        """Submits the experiment in the file, and waits until its kernels are ready or those that are are `enough`.

        Their names. Where that is not all, the evaluation is cancelled; else it goes on (`watch last`).
        """
        submitted = self.run("submit", spec)
        assert submitted.returncode == 0, submitted.stderr

        def finished():
            arms = self.query("select name, status, detail from arm order by position")
            assert not [arm for arm in arms if arm[1] in ("failed", "stopped")], arms
            ready = [name for name, status, _ in arms if status == "ready"]
            if len(ready) == len(arms) or enough(ready):
                return ready, len(ready) == len(arms)
            over = self.query("select detail from evaluation where finished_at is not null")
            assert not over, over
            return None

        ready, complete = wait_until(finished, 2700, "the kernels are built", pause=0.5)
        if not complete:
            cancelled = self.run("cancel", "last")
            assert cancelled.returncode == 0, cancelled.stderr
        return ready

    def kernels(self):
        """{arm: path of its kernel}, of those that are ready."""
        return dict(self.query(
            "select arm.name, kernel.path from arm join kernel on kernel.id = arm.kernel_id where arm.status = 'ready'"))

    def resets(self):
        """Of the checks' block, in which an arm that fails is stopped: boots that the emulator reset without a word.

        It does so about once in a hundred (docs/booting.md, known faults); a test then evaluates once more.
        """
        return self.query("select arm, detail from v_boot where block = 0 and detail like 'the guest reset %'")

    def query(self, sql):
        """Rows as lists of text (NULL is None)."""
        done = self.run("query", sql, "--format", "json")
        assert done.returncode == 0, done.stderr
        return [list(row.values()) for row in json.loads(done.stdout)]

    def has_results(self):
        """False until a daemon has made the database."""
        return self.run("query", "select 1").returncode == 0

    def processes(self, program):
        return [pid for pid, command in descendants_of(self.mark).items() if program in command.split(" ")[0]]
