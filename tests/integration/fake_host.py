#!/usr/bin/env python3
"""A kab-host without machines: it answers boot requests with samples that derive from where a boot stands in the plan
(block, arm, run), never from the attempt. To be found as `kab-host` in a KAB_LIBEXEC_DIR. SIGUSR1 cuts its pipe: it
closes its output and goes on living. No module but those of the standard library that start fast.

KAB_FAKE_HOST=hold: it runs nothing and waits to be told to cancel. KAB_FAKE_HOST=unplanned: the first attempt of the
first boot sends a run that nobody asked for."""

import hashlib
import json
import os
import select
import signal
import sqlite3
import struct
import sys

PACE = 0.002  # seconds between two messages of a guest


class Ended(Exception):
    """kabd closed our input."""


class Host:
    def __init__(self):
        self.input = b""
        self.cancelled = set()
        self.waiting = []
        self.database = os.path.join(os.environ["KAB_STATE_DIR"], "kab.db")
        self.trouble = os.environ.get("KAB_FAKE_HOST", "")

    @staticmethod
    def send(**message):
        payload = json.dumps(message).encode()
        data = struct.pack("<I", len(payload)) + payload
        while data:
            data = data[os.write(1, data):]

    def listen(self, seconds):
        """Takes what kabd has sent; waits that long for it (None: until something comes)."""
        if not select.select([0], [], [], seconds)[0]:
            return
        data = os.read(0, 65536)
        if not data:
            raise Ended
        self.input += data
        while len(self.input) >= 4:
            size = struct.unpack("<I", self.input[:4])[0]
            if len(self.input) < 4 + size:
                return
            message = json.loads(self.input[4:4 + size])
            self.input = self.input[4 + size:]
            if message["type"] == "hello":
                self.send(type="hello", role="kab-host", major=message["major"], minor=message["minor"], build="fake",
                          capabilities=["qemu"], properties={"cpu": "none", "cores": "1", "kvm": "not asked"})
            elif message["type"] == "boot-request":
                self.waiting.append(message)
            elif message["type"] == "cancel-boot":
                self.cancelled.add(message["attempt"])

    def place(self, attempt):
        """Block, arm, position and number of an attempt, as kabd has committed them before it asked."""
        database = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)
        try:
            return database.execute(
                "select block.number, arm.name, boot.position, attempt.number from attempt "
                "join boot on boot.id = attempt.boot_id join block on block.id = boot.block_id "
                "join arm on arm.id = boot.arm_id where attempt.uid = ?", [attempt]).fetchone()
        finally:
            database.close()

    @staticmethod
    def value(place, order, metric):
        text = f"{place[0]}/{place[1]}/{order['workload']}/{order['point']}/{order['seq']}/{metric}"
        noise = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little") / 2**32 - 0.5
        return 1e9 * (1 + 0.01 * noise) * (0.8 if place[1].startswith("patched") else 1.0)

    def samples(self, place, order):
        if order.get("counters"):
            metrics = [*order["counters"], "counted-elapsed", "machine-busy", "drain-busy"]
            times = {"enabled_ns": 10, "running_ns": 10}
        else:
            metrics, times = ["elapsed", "backlog"], {}
        return [{"metric": metric, "value": self.value(place, order, metric), **times} for metric in metrics]

    @staticmethod
    def agent_sha256():
        """Of the kab-agent beside this program: what a real host would pack."""
        with open(os.path.join(os.environ["KAB_LIBEXEC_DIR"], "kab-agent"), "rb") as agent:
            return hashlib.sha256(agent.read()).hexdigest()

    def boot(self, request):
        attempt = request["attempt"]
        place = self.place(attempt)
        os.makedirs(os.path.dirname(request["console_path"]), exist_ok=True)
        with open(request["console_path"], "w") as console:
            console.write(f"console of {attempt}\n")
        self.send(type="boot-progress", attempt=attempt, phase="booting", done=0, total=0)
        self.send(type="boot-hello", attempt=attempt, accel="tcg", machine="microvm", emulator="none", channel="virtio",
                  agent_sha256=self.agent_sha256(),
                  agent={"major": 1, "minor": 0, "build": "fake", "release": "6.1", "clocksource": "tsc", "cpus": 1})
        done, outcome = 0, "ok"
        if self.trouble == "unplanned" and place[0] == place[2] == place[3] == 1:
            self.send(type="run-finished", attempt=attempt, seq=999, started_ns=1, samples=[])
        while self.trouble == "hold" and attempt not in self.cancelled:
            self.listen(None)
        for order in request["plan"]["runs"]:
            self.listen(PACE)
            if attempt in self.cancelled:
                outcome = "cancelled"
                break
            self.send(type="run-finished", attempt=attempt, seq=order["seq"], started_ns=1000 * order["seq"],
                      samples=self.samples(place, order))
            done += 1
        self.send(type="boot-finished", attempt=attempt, outcome=outcome, detail="" if outcome == "ok" else "cancelled",
                  runs=done, setup_ns=1, hello_ns=1, work_ns=1, teardown_ns=1, console_bytes=1)

    def run(self):
        try:
            while True:
                while self.waiting:
                    self.boot(self.waiting.pop(0))
                self.listen(None)
        except (Ended, BrokenPipeError):
            pass


def cut(*_):
    os.close(1)
    while True:
        signal.pause()


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, cut)
    Host().run()
    sys.exit(0)
