"""Speaks with a kab-host over its pipes, as kabd does (protocol/framing.h), and sees what it leaves behind."""

import json
import os
import pathlib
import select
import struct
import subprocess
import tempfile

from kab_env import BIN


def parent_of(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def descendants(pid):
    """{pid: program} of all living descendants."""
    parents = {int(p.name): parent_of(int(p.name)) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()}
    found, wave = {}, [pid]
    while wave:
        wave = [child for child, parent in parents.items() if parent in wave]
        for child in wave:
            try:
                found[child] = os.readlink(f"/proc/{child}/exe").rpartition("/")[2]
            except OSError:
                pass  # it ended meanwhile, or is a zombie
    return found


class Host:
    """A kab-host with a temporary directory of its own; as a context it checks that nothing is left."""

    def __init__(self, env=None, greet=True):
        self.folder = tempfile.TemporaryDirectory(prefix="kab-host-test-")
        self.temp = pathlib.Path(self.folder.name) / "t"
        self.temp.mkdir()
        self.console = pathlib.Path(self.folder.name) / "consoles" / "console.txt"
        self.errors = open(pathlib.Path(self.folder.name) / "stderr", "w+")
        self.process = subprocess.Popen(
            [BIN / "kab-host"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            env={**os.environ, "TMPDIR": str(self.temp), "KAB_LIBEXEC_DIR": str(BIN), **(env or {})})
        if greet:
            self.send({"type": "hello", "role": "kabd", "major": 1, "minor": 0})
            self.hello = self.receive()
            self.properties = self.hello["properties"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        children = list(descendants(self.process.pid))
        self.process.stdin.close()
        code = self.process.wait(30)
        self.await_end(children)
        left = list(self.temp.iterdir())
        self.errors.close()
        self.process.stdout.close()
        self.folder.cleanup()
        assert not left or code < 0, f"left behind: {left}"

    def stderr(self):
        return pathlib.Path(self.errors.name).read_text()

    def send(self, message):
        payload = json.dumps(message).encode()
        self.process.stdin.write(struct.pack("<I", len(payload)) + payload)
        self.process.stdin.flush()

    def readable(self, seconds):
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def read(self, size):
        """os.read, so that readable() tells the truth."""
        data = b""
        while len(data) < size:
            piece = os.read(self.process.stdout.fileno(), size - len(data))
            if not piece:
                return b""
            data += piece
        return data

    def receive(self):
        """The next message; None at the end."""
        head = self.read(4)
        return json.loads(self.read(struct.unpack("<I", head)[0])) if head else None

    def request(self, kernel, runs=0, attempt="A1", **changes):
        orders = [{"seq": n + 1, "workload": "ipcns-exit", "point": 0, "with": {"children": 8, "concurrency": 1}, "iteration": n}
                  for n in range(runs)]
        message = {
            "type": "boot-request", "attempt": attempt, "kernel": str(kernel), "accel": "auto", "machine": "auto",
            "cpus": 1, "memory_bytes": 64 << 20, "boot_limit_ns": 60 * 10**9, "run_limit_ns": 60 * 10**9,
            "console_path": str(self.console), "plan": {"runs": orders, "drain_limit_ns": 60 * 10**9}}
        message.update(changes)
        self.send(message)

    def until(self, *kinds, acknowledge=True):
        """All messages up to and with the first of these types. A boot that ends without one fails."""
        messages = []
        while True:
            message = self.receive()
            assert message is not None, f"kab-host ended: {self.stderr()}"
            messages.append(message)
            if message["type"] == "run-finished" and acknowledge:
                self.send({"type": "sample-ack", "attempt": message["attempt"], "seq": message["seq"]})
            if message["type"] in kinds:
                return messages
            assert message["type"] != "boot-finished", message

    def boot(self, kernel, **options):
        """(boot-finished, all messages before it)"""
        self.request(kernel, **options)
        messages = self.until("boot-finished")
        return messages[-1], messages[:-1]

    def emulator(self):
        """The pid of the running QEMU."""
        return next(pid for pid, program in descendants(self.process.pid).items() if program.startswith("qemu-system"))

    @staticmethod
    def await_end(pids):
        """Waits until none of these processes lives, at most 10 s each."""
        for pid in pids:
            try:
                fd = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                assert select.select([fd], [], [], 10)[0], f"process {pid} is still there"
            finally:
                os.close(fd)
