"""kab-host and real QEMU with guests made for the occasion: every way in which a boot can end."""

import hashlib
import os
import pathlib
import signal
import socket
import struct
import tempfile
import unittest

import fake_guest as guest
from host_client import Host, descendants
from kab_env import BIN

SECOND = 10**9


class HostTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kab-guest-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kernel(self, *steps):
        path = self.folder / "kernel"
        path.write_bytes(guest.build(*steps))
        return path

    def outcome(self, *steps, **options):
        with Host() as host:
            finished, _ = host.boot(self.kernel(*steps), **options)
        return finished

    def test_a_whole_boot(self):
        kernel = self.kernel(guest.console("Booting\n"), guest.hello(), guest.AWAIT_PLAN, guest.run(1, elapsed=1.5),
                             guest.run(2, elapsed=2.5), guest.done(2), guest.console("Bye\n"), guest.RESET)
        with Host() as host:
            finished, messages = host.boot(kernel, runs=2)
            self.assertEqual(finished["outcome"], "ok", finished)
            self.assertEqual(finished.get("detail", ""), "")
            self.assertEqual(finished["runs"], 2)
            self.assertEqual(host.console.read_text(), "Booting\nBye\n")
            self.assertEqual(finished["console_bytes"], len("Booting\nBye\n"))
            for name in ("setup_ns", "hello_ns", "work_ns", "teardown_ns"):
                self.assertGreater(finished[name], 0, name)
            runs = [m for m in messages if m["type"] == "run-finished"]
            self.assertEqual([(m["attempt"], m["seq"], m["samples"][0]["value"]) for m in runs], [("A1", 1, 1.5), ("A1", 2, 2.5)])
            said = next(m for m in messages if m["type"] == "boot-hello")
            self.assertEqual((said["machine"], said["channel"], said["agent"]["build"]), ("q35", "ttyS1", "fake"))
            self.assertIn("QEMU emulator version", said["emulator"])
            self.assertRegex(said["pinning"], "^yes$|^1 virtual CPUs, and the host has 1$|^pin thread ")
            self.assertEqual(said["agent_sha256"], hashlib.sha256((BIN / "kab-agent").read_bytes()).hexdigest())
            self.assertNotIn("shell_sha256", {name for name, value in said.items() if value}, "no workload needs one")
            self.assertIn("governor", host.properties)
            self.assertIn("mitigations", host.properties)
            self.assertEqual(said["accel"], "kvm" if host.properties["kvm"] == "yes" else "tcg")
            phases = [m["phase"] for m in messages if m["type"] == "boot-progress"]
            self.assertEqual(phases[:3], ["starting", "booting", "running"])
            self.assertEqual(list(host.temp.iterdir()), [], "nothing is left by a boot while the host lives")
            self.assertEqual(descendants(host.process.pid), {})
            again, _ = host.boot(kernel, runs=2, attempt="A2")
            self.assertEqual(again["outcome"], "ok", "the host takes the next one")

    def test_an_agent_replaced_between_two_boots_is_told(self):
        kernel = self.kernel(guest.hello(), guest.AWAIT_PLAN, guest.done(0), guest.RESET)
        agent = self.folder / "kab-agent"
        with Host(env={"KAB_LIBEXEC_DIR": str(self.folder)}) as host:
            for text in (b"the agent", b"the agent that was installed meanwhile"):
                agent.write_bytes(text)
                finished, messages = host.boot(kernel)
                self.assertEqual(finished["outcome"], "ok", finished)
                said = next(m for m in messages if m["type"] == "boot-hello")
                self.assertEqual(said["agent_sha256"], hashlib.sha256(text).hexdigest())

    def test_faults_of_the_kernel(self):
        oops = "[    1.5] BUG: kernel NULL pointer dereference, address: 0000000000000008\n[    1.5] RIP: 0010:free_ipc+0x1/0x2\n"
        for steps in ((guest.console(oops), guest.RESET), (guest.hello(), guest.console(oops), guest.done(0), guest.RESET)):
            finished = self.outcome(*steps)
            self.assertEqual(finished["outcome"], "kernel-crash")
            self.assertEqual(finished["detail"], "BUG: kernel NULL pointer dereference, address: 0000000000000008")
            self.assertEqual(len(finished["console"]), 1)
            self.assertEqual(finished["console"][0]["signature"], "BUG: kernel NULL pointer dereference, address: X in free_ipc")
        finished = self.outcome(guest.console("[ 0.1] Kernel panic - not syncing: x\n"), guest.HANG)
        self.assertEqual(finished["outcome"], "kernel-crash", "a panic that does not reset is ended")
        finished = self.outcome(guest.console("hm\n"), guest.RESET)
        self.assertEqual(finished["outcome"], "boot-failure")
        self.assertEqual(finished["detail"], "the guest reset before the agent said hello; last console line: hm")
        finished = self.outcome(guest.hello(), guest.AWAIT_PLAN, guest.started(1), guest.RESET, runs=1)
        self.assertEqual(finished["outcome"], "kernel-crash")
        self.assertIn("reset without a word in run 1 of 1", finished["detail"])

    def test_a_reset_at_the_first_instruction_is_the_kernels_fault(self):
        with Host() as host:
            kernel = self.kernel(guest.MICROVM_DRIVERS, guest.TRIPLE_FAULT)
            for n in range(5):
                finished, _ = host.boot(kernel, attempt=f"A{n}", machine="microvm")
                self.assertEqual(finished["outcome"], "boot-failure", finished)
                self.assertEqual(finished["detail"], "the guest reset before the agent said hello; the console is empty")

    def test_a_console_full_of_garbage(self):
        text = b""
        for i in range(70):
            name = bytes((97 + i // 26, 97 + i % 26))
            text += b"[ 1.0] BUG: thing " + name + b"\n" + (b" " + b"\xff" * 500 + b"\n") * 24 + b"zz\n" * 4
        text += b"[ 2.0] Kernel panic - not syncing: boom\n"
        with Host() as host:
            finished, _ = host.boot(self.kernel(guest.console(text), guest.RESET))
            self.assertEqual((finished["outcome"], finished["detail"]), ("kernel-crash", "Kernel panic - not syncing: boom"))
            self.assertEqual(finished["console"][-1]["kind"], "panic")
            again, _ = host.boot(self.kernel(guest.hello(), guest.done(0), guest.RESET), attempt="A2")
            self.assertEqual(again["outcome"], "ok", "the host lives")

    def test_words_that_are_too_long_for_a_frame(self):
        finished = self.outcome(guest.hello(), guest.error(0, "x" * 1_000_000), guest.HANG)
        self.assertEqual(finished["outcome"], "infra-error")
        self.assertLess(len(finished["detail"]), 3000)
        finished = self.outcome(guest.hello(warnings=["x" * ((1 << 20) - 200)]), guest.HANG)
        self.assertEqual((finished["outcome"], finished["detail"]), ("infra-error", "kab-agent: its hello is too long"))

    def test_a_machine_that_qemu_pauses(self):
        emulator = self.folder / "qemu"
        monitor = self.folder / "monitor"
        emulator.write_text(f'''#!/bin/sh
case "$*" in *-sandbox*) set -- "$@" -qmp unix:{monitor},server=on,wait=off; echo "KVM internal error. Suberror: 1" >&2;; esac
exec qemu-system-x86_64 "$@"
''')
        emulator.chmod(0o755)
        with Host(env={"KAB_QEMU": str(emulator)}) as host:
            host.request(self.kernel(guest.hello(), guest.HANG))
            host.until("boot-hello")
            with socket.socket(socket.AF_UNIX) as control:
                control.connect(str(monitor))
                control.sendall(b'{"execute": "qmp_capabilities"}{"execute": "stop"}')
                finished = host.until("boot-finished")[-1]
            self.assertEqual(finished["outcome"], "infra-error")
            self.assertEqual(finished["detail"], "QEMU paused the machine after run 0 of 0; QEMU: KVM internal error. Suberror: 1")

    def test_the_host_confirms_what_it_heard(self):
        confirmed = guest.console("confirmed\n")
        for steps in ((guest.hello(), guest.READ_FRAME, guest.done(0)), (guest.error(0, "no memory"),)):
            with Host() as host:
                host.boot(self.kernel(*steps, guest.READ_FRAME, confirmed, guest.RESET))
                self.assertEqual(host.console.read_text(), "confirmed\n")

    def test_deadlines(self):
        finished = self.outcome(guest.console("slow\n"), guest.HANG, boot_limit_ns=2 * SECOND)
        self.assertEqual(finished["outcome"], "boot-failure")
        self.assertRegex(finished["detail"], r"^no hello from the agent within 2.*s; last console line: slow; nothing on the console for the last [\d.]+ s$")
        steps = (guest.hello(), guest.AWAIT_PLAN, guest.run(1), guest.started(2),
                 guest.console("[ 9.9] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]\n"), guest.HANG)
        finished = self.outcome(*steps, runs=3, run_limit_ns=SECOND)
        self.assertEqual(finished["outcome"], "hang")
        self.assertRegex(finished["detail"], r"^nothing within 1.*s in run 2 of 3; console: watchdog: BUG: soft lockup")
        self.assertEqual(finished["runs"], 1)

    def test_a_guest_that_does_not_go_down(self):
        steps = (guest.hello(), guest.AWAIT_PLAN, guest.run(1), guest.done(1), guest.console("[ 1.0] reboot: Restarting\n"))
        finished = self.outcome(*steps, guest.HANG, runs=1, run_limit_ns=3 * SECOND)
        self.assertEqual((finished["outcome"], finished.get("detail", "")), ("ok", ""))
        self.assertEqual([(e["kind"], e["severity"], e["line"]) for e in finished["console"]], [("shutdown", "error", 1)])
        self.assertRegex(finished["console"][0]["text"], "^the guest did not go down within 3.*s of its last run; "
                                                         "last console line: reboot: Restarting$")
        finished = self.outcome(*steps, guest.console("[ 1.1] kernel BUG at ipc/x.c:1!\n"), guest.HANG, runs=1,
                                run_limit_ns=3 * SECOND)
        self.assertEqual([e["kind"] for e in finished["console"]], ["bug", "shutdown"])
        finished = self.outcome(*steps, guest.console("[ 1.1] Kernel panic - not syncing: x\n"), guest.HANG, runs=1)
        self.assertEqual(finished["outcome"], "kernel-crash")
        self.assertEqual([e["kind"] for e in finished["console"]], ["panic"], "it is known why it does not")

    def test_errors_of_the_agent(self):
        finished = self.outcome(guest.hello(), guest.started(1), guest.error(1, "unshare: No space left"), guest.RESET, runs=1)
        self.assertEqual((finished["outcome"], finished["detail"]), ("workload-error", "unshare: No space left"))
        finished = self.outcome(guest.error(0, "no memory"), guest.RESET)
        self.assertEqual((finished["outcome"], finished["detail"]), ("infra-error", "kab-agent: no memory"))
        finished = self.outcome(guest.say(guest.AGENT, "login: "), guest.HANG)
        self.assertEqual(finished["outcome"], "infra-error")
        self.assertTrue(finished["detail"].startswith("kab-agent: "), finished["detail"])
        finished = self.outcome(guest.hello(major=7), guest.HANG)
        self.assertEqual((finished["outcome"], finished["detail"]), ("infra-error", "kab-agent: speaks protocol 7.0, this is 1.2"))
        killed = (guest.hello(), guest.AWAIT_PLAN, guest.run(1), guest.started(2),
                  guest.console("[ 9.0] Out of memory: Killed process 17 (init)\n"), guest.error(0, "the agent was killed"), guest.RESET)
        finished = self.outcome(*killed, runs=3)
        self.assertEqual((finished["outcome"], finished["detail"]), (
            "workload-error", "the agent was killed in run 2 of 3; console: Out of memory: Killed process 17 (init)"))
        oom = guest.console("[ 9.0] Out of memory: Killed process 17 (init)\n")
        signal_9 = guest.error(0, "the agent was killed by signal 9 (Killed)")
        for steps, outcome, detail in (
            ((guest.started(1),), "infra-error", "kab-agent: the agent was killed by signal 9 (Killed) in run 1 of 1"),
            ((), "infra-error", "kab-agent: the agent was killed by signal 9 (Killed)"),
            ((guest.run(1), oom), "workload-error", "the agent was killed by signal 9 (Killed) after run 1 of 1; "
                                                    "console: Out of memory: Killed process 17 (init)"),
        ):
            finished = self.outcome(guest.hello(), guest.AWAIT_PLAN, *steps, signal_9, guest.RESET, runs=1)
            self.assertEqual((finished["outcome"], finished["detail"]), (outcome, detail))
        finished = self.outcome(guest.hello(), guest.AWAIT_PLAN, guest.run(1), guest.done(1), guest.RESET, runs=2)
        self.assertEqual(finished["outcome"], "infra-error", "done too early")

    def test_a_machine_that_is_not_as_planned(self):
        finished = self.outcome(guest.hello(clocksource="refined-jiffies"), guest.HANG)
        self.assertEqual(finished["outcome"], "infra-error")
        self.assertIn("clocksource is refined-jiffies", finished["detail"])
        finished = self.outcome(guest.hello(clocksource="jiffies"), guest.done(0), guest.RESET, command_line="clocksource=jiffies")
        self.assertEqual(finished["outcome"], "ok", "the experiment may ask for another clock")
        finished = self.outcome(guest.hello(cpus=3), guest.HANG)
        self.assertEqual(finished["outcome"], "infra-error")
        finished = self.outcome(guest.hello(cpus=1), guest.HANG, cpus=2)
        self.assertEqual(finished["outcome"], "boot-failure")
        self.assertTrue(finished["detail"].startswith("the kernel brought up 1 of 2 CPUs"), finished["detail"])
        slow = guest.hello(high_resolution_timers=False, high_resolution_inactive=True)
        finished = self.outcome(slow, guest.HANG)
        self.assertEqual((finished["outcome"], finished["detail"]),
                         ("infra-error", "the kernel has high-resolution timers, but they are not in use"))
        finished = self.outcome(slow, guest.done(0), guest.RESET, command_line="highres=off")
        self.assertEqual(finished["outcome"], "ok", "the experiment may ask for that")

    def test_false_starts_are_repeated_and_counted(self):
        trouble = guest.console("[    0.4] APIC timer disabled due to verification failure\n")
        with Host() as host:
            if host.properties["kvm"] == "yes":
                self.skipTest("only emulated guests have false starts")
            finished, _ = host.boot(self.kernel(trouble, guest.HANG), boot_limit_ns=2 * SECOND)
            self.assertEqual((finished["outcome"], finished["false_starts"]), ("infra-error", 8))
            self.assertIn("APIC timer disabled", finished["detail"])
            asked, _ = host.boot(self.kernel(trouble, guest.HANG), attempt="A3", boot_limit_ns=2 * SECOND, command_line="tsc=unstable")
            self.assertEqual((asked["outcome"], asked.get("false_starts", 0)), ("boot-failure", 0))
            panic = guest.console("[    0.4] ..MP-BIOS bug: 8254 timer not connected to IO-APIC\n"
                                  "[    0.4] Kernel panic - not syncing: IO-APIC + timer doesn't work!\n")
            dead, _ = host.boot(self.kernel(panic, guest.RESET), attempt="A5")
            self.assertEqual((dead["outcome"], dead["false_starts"]), ("kernel-crash", 8), "a kernel that never works is at fault")
            fatal = guest.console("[    0.4] Kernel panic - not syncing: x\n[    0.4] APIC timer disabled due to verification failure\n")
            crashed, _ = host.boot(self.kernel(fatal, guest.RESET), attempt="A4")
            self.assertEqual((crashed["outcome"], crashed.get("false_starts", 0)), ("kernel-crash", 0))
            late = self.kernel(guest.hello(high_resolution_timers=False), guest.AWAIT_PLAN, trouble, guest.done(0), guest.RESET)
            finished, _ = host.boot(late, attempt="A2")
            self.assertEqual(finished["outcome"], "infra-error")
            self.assertIn("no high-resolution timers", finished["detail"])

    def test_requests_that_cannot_be(self):
        with Host() as host:
            finished, _ = host.boot(self.kernel(guest.HANG), attempt="A0", machine="microvm")
            self.assertEqual(finished["outcome"], "boot-failure")
            self.assertIn("CONFIG_VIRTIO_MMIO_CMDLINE_DEVICES", finished["detail"])
            text = self.folder / "text"
            text.write_text("no kernel")
            finished, _ = host.boot(text)
            self.assertEqual(finished["outcome"], "boot-failure")
            self.assertEqual(finished["detail"], f"not a kernel: {text} is neither a bzImage nor an ELF file")
            finished, _ = host.boot(self.folder / "absent", attempt="A2")
            self.assertEqual((finished["outcome"], finished["detail"]),
                             ("infra-error", f"no such kernel: {self.folder}/absent"), "it was there when kabd looked")
            finished, _ = host.boot(self.kernel(guest.HANG), attempt="A6", modules=str(self.folder / "absent"))
            self.assertEqual((finished["outcome"], finished["detail"]),
                             ("infra-error", f"no such modules: {self.folder}/absent"))
            finished, _ = host.boot(self.kernel(guest.HANG), attempt="A3", console_path="/proc/nowhere/console")
            self.assertEqual(finished["outcome"], "infra-error")
            finished, _ = host.boot(self.kernel(guest.HANG), attempt="A4", modules=str(self.folder))
            self.assertIn("holds no kernel modules", finished["detail"])
            if host.properties["kvm"] != "yes":
                finished, _ = host.boot(self.kernel(guest.HANG), attempt="A5", accel="kvm")
                self.assertEqual(finished["outcome"], "infra-error")
                self.assertTrue(finished["detail"].startswith("KVM is asked for, but "), finished["detail"])

    def test_cancel_and_one_boot_at_a_time(self):
        with Host() as host:
            host.request(self.kernel(guest.hello(), guest.HANG))
            host.until("boot-hello")
            host.request(self.kernel(guest.HANG), attempt="A2")
            refused = host.until("boot-finished")[-1]
            self.assertEqual((refused["attempt"], refused["outcome"]), ("A2", "infra-error"))
            self.assertEqual(refused["detail"], "this host is busy with attempt A1")
            host.request(self.kernel(guest.HANG))  # the same again: it is under way
            host.send({"type": "cancel-boot", "attempt": "A2"})
            host.send({"type": "cancel-boot", "attempt": "A1"})
            finished = host.until("boot-finished")[-1]
            self.assertEqual((finished["attempt"], finished["outcome"]), ("A1", "cancelled"))
            host.request(self.kernel(guest.HANG), attempt="A3")
            host.send({"type": "shutdown"})
            finished = host.until("boot-finished")[-1]
            self.assertEqual((finished["attempt"], finished["outcome"]), ("A3", "cancelled"))
            self.assertEqual(host.process.wait(20), 0)

    def test_credit(self):
        runs = 300
        kernel = self.kernel(guest.hello(), guest.AWAIT_PLAN, *(guest.run(n + 1) for n in range(runs)), guest.done(runs), guest.RESET)
        with Host() as host:
            host.request(kernel, runs=runs, run_limit_ns=2 * SECOND)
            got = 0
            while got < 256:
                got += host.receive()["type"] == "run-finished"
            while host.readable(3):  # longer than the deadline of a run, which must not count now
                self.assertEqual(host.receive()["type"], "boot-progress", "no more without credit")
            host.send({"type": "sample-ack", "attempt": "A1", "seq": 256})
            messages = host.until("boot-finished")
            self.assertEqual(messages[-1]["outcome"], "ok", messages[-1])
            self.assertEqual(sum(m["type"] == "run-finished" for m in messages), runs - 256)

    def test_a_killed_emulator_is_an_infra_error(self):
        with Host() as host:
            host.request(self.kernel(guest.hello(), guest.HANG))
            host.until("boot-hello")
            os.kill(host.emulator(), signal.SIGKILL)
            finished = host.until("boot-finished")[-1]
            self.assertEqual((finished["outcome"], finished["detail"]), ("infra-error", "QEMU ended with signal 9 (Killed)"))

    def test_nothing_outlives_the_host(self):
        for end in ("SIGKILL", "SIGTERM", "EOF"):
            with self.subTest(end), Host() as host:
                host.request(self.kernel(guest.hello(), guest.HANG))
                host.until("boot-hello")
                children = descendants(host.process.pid)
                self.assertEqual(len(children), 2, f"QEMU and its supervisor: {children}")
                if end == "EOF":
                    host.process.stdin.close()
                else:
                    os.kill(host.process.pid, getattr(signal, end))
                self.assertEqual(host.process.wait(20), -signal.SIGKILL if end == "SIGKILL" else 0)
                host.await_end(children)

    def test_what_a_killed_host_leaves_is_removed_by_another(self):
        with Host() as host:
            host.request(self.kernel(guest.hello(), guest.HANG))
            host.until("boot-hello")
            left = list(host.temp.iterdir())
            self.assertEqual(len(left), 1)
            os.utime(left[0] / "lock", (1, 1))
            with Host(env={"TMPDIR": str(host.temp)}):
                self.assertEqual(list(host.temp.iterdir()), left, "its owner lives")
            host.process.kill()
            host.process.wait(20)
            self.assertEqual(list(host.temp.iterdir()), left)
            with Host(env={"TMPDIR": str(host.temp)}):
                self.assertEqual(list(host.temp.iterdir()), [])

    def test_a_host_without_qemu_or_with_a_strange_kabd(self):
        with Host(env={"KAB_QEMU": "qemu-system-none"}, greet=False) as host:
            self.assertEqual(host.process.wait(20), 3)
            self.assertIn("install the Debian package qemu-system-x86", host.stderr())
        for said, expected in (
            (guest.message(type="hello", role="kabd", major=9, minor=0), "kabd speaks protocol 9.0, this kab-host 1.2"),
            (guest.message(type="shutdown"), "kabd did not say hello first"),
            (guest.message(type="no-such-type"), "no-such-type"),
            (struct.pack("<I", 1 << 30) + b"x", "frame"),
        ):
            with self.subTest(expected), Host(greet=False) as host:
                host.process.stdin.write(said)
                host.process.stdin.flush()
                self.assertEqual(host.process.wait(20), 3)
                self.assertIn(expected, host.stderr())


if __name__ == "__main__":
    unittest.main()
