"""kab as a user sees it: help, bad files, exit codes, queries, and the private daemon it starts."""

import fcntl
import http.server
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socketserver
import struct
import subprocess
import tempfile
import termios
import threading
import unittest

from kab_env import wait_until

BIN = pathlib.Path(os.environ["KAB_BIN_DIR"])
SOURCE = pathlib.Path(os.environ["KAB_SOURCE_DIR"])
COMMANDS = "run check simulate submit list show watch report history compare cancel query hosts kernels version".split()

GOOD = """\
experiment: small
question: does it matter?
kernel:
  source: {image: kernel.img}
arms:
  base: {}
  change: {}
workloads:
  - workload: ipcns-exit
    with: {children: 10}
decide: {looks: [3, 4]}
"""

# Built in seconds: tests/unit/kernel/linux-mini stands for Linux.
MINI = """\
experiment: mini
kernel:
  source: {dir: tree}
  config: [mini.config]
arms:
  base: {}
  change: {patches: [change.patch]}
workloads:
  - workload: ipcns-exit
"""

PATCH = """\
diff --git a/ipc/namespace.c b/ipc/namespace.c
--- a/ipc/namespace.c
+++ b/ipc/namespace.c
@@ -4,6 +4,6 @@
 /* drop a reference */
 int put_ipc_ns(int ns)
 {
-\tusers -= ns;
+\tusers -= 2 * ns;
 \treturn users;
 }
"""


def looks_like_a_kernel():
    """The header of a bzImage, and nothing that could boot."""
    image = bytearray(0x400)
    image[0x1FE:0x200] = b"\x55\xaa"
    image[0x202:0x206] = b"HdrS"
    image[0x236] = 1
    return bytes(image)


HANGS = "#!/bin/sh\nexec sleep 3600\n"
# Never says hello, but ends with its pipe, as every kab-host does.
MUTE_HOST = "#!/bin/sh\nexec cat >/dev/null\n"


def flat(text):
    """Without the line ends that wrapping put in."""
    return " ".join(text.split())


class Case(unittest.TestCase):
    """Each test has a state directory of its own; the daemons of it are ended after it."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="kab-cli-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.addCleanup(self.end_daemon)
        self.state = self.dir / "state"
        self.env = dict(os.environ, HOME=str(self.dir), KAB_STATE_DIR=str(self.state), TERM="dumb",
                        KAB_CACHE_DIR=str(self.dir / "cache"))
        self.env.pop("KAB_DATA_DIR", None)
        # What a killed kab-host leaves for the next one to sweep stays in here.
        self.env["TMPDIR"] = str(self.dir / "tmp")
        # Nothing is measured here: no need to wait for others, or to keep them waiting.
        self.env["KAB_MACHINE_LOCK"] = str(self.dir / "machine.lock")
        (self.dir / "tmp").mkdir()

    def kab(self, *args, code=None, **kwargs):
        done = subprocess.run([BIN / "kab", *args], env=self.env, cwd=self.dir, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True, **kwargs)
        if code is not None:
            self.assertEqual(done.returncode, code, f"kab {' '.join(map(str, args))}\n{done.stdout}{done.stderr}")
        return done

    def start(self, *args):
        process = subprocess.Popen([BIN / "kab", *args], env=self.env, cwd=self.dir, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for_line(self, process, text):
        timer = threading.Timer(60, process.kill)
        timer.start()
        seen = []
        for line in process.stderr:
            seen.append(line)
            if text in line:
                timer.cancel()
                return line
        timer.cancel()
        self.fail(f"kab did not say '{text}' but {seen}")

    def write(self, name, text):
        path = self.dir / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def daemon(self):
        return json.loads(self.kab("version", "--json", code=0).stdout)["daemon"]

    def end_daemon(self):
        daemon = self.daemon()
        if not daemon:
            return
        fd = os.pidfd_open(daemon["pid"])
        signal.pidfd_send_signal(fd, signal.SIGTERM)
        self.wait_for_exit(fd)

    @staticmethod
    def wait_for_exit(fd):
        ended, _, _ = select.select([fd], [], [], 30)
        os.close(fd)
        if not ended:
            raise TimeoutError("the daemon did not end")

    def kill_daemon(self):
        fd = os.pidfd_open(self.daemon()["pid"])
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        self.wait_for_exit(fd)

    def on_terminal(self, *args, columns):
        """What kab writes to a terminal of so many columns."""
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([BIN / "kab", *args], env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL,
                                   stdout=its, stderr=subprocess.DEVNULL)
        os.close(its)
        output = b""
        with open(ours, "rb", buffering=0) as terminal:
            try:
                while piece := terminal.read(4096):
                    output += piece
            except OSError:  # the other end was closed
                pass
        self.assertEqual(process.wait(timeout=60), 0, args)
        return output.decode().replace("\r\n", "\n")

    def write_mini(self):
        """mini.yaml, a right experiment on a small source tree, with all its files."""
        shutil.copytree(SOURCE / "tests/unit/kernel/linux-mini", self.dir / "tree")
        self.write("mini.config", "CONFIG_PVH=y\nCONFIG_IPC_NS=y\n")
        self.write("change.patch", PATCH)
        self.write("mini.yaml", MINI)

    def use_programs(self, **scripts):
        """Scripts in place of kab's own programs ("kab_build" is kab-build)."""
        programs = self.dir / "programs"
        programs.mkdir()
        self.env["KAB_LIBEXEC_DIR"] = str(programs)
        for name, text in scripts.items():
            path = programs / name.replace("_", "-")
            path.write_text(text)
            path.chmod(0o755)
        return programs

    def use_hanging_builder(self, builder=HANGS):
        """A builder that never gets on: evaluations stay where they are."""
        programs = self.use_programs(kab_build=builder, kab_host=MUTE_HOST)
        for name in ("kab-agent", "kab-supervise"):
            (programs / name).symlink_to(BIN / name)


class Help(Case):
    def test_every_command_explains_itself(self):
        overview = self.kab("--help", code=0).stdout
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", overview)
            self.assertIn("Usage: kab " + command, self.kab(command, "--help", code=0).stdout)

    def test_help_fits_a_terminal(self):
        for args in ([], *([command] for command in COMMANDS)):
            for line in self.kab(*args, "--help", code=0).stdout.splitlines():
                self.assertLess(len(line), 80, args)

    def test_verdicts_are_exit_codes_of_those_only_that_wait_for_them(self):
        for command in ("run", "watch"):
            self.assertIn("1 a regression", flat(self.kab(command, "--help", code=0).stdout))
        for command in set(COMMANDS) - {"run", "watch", "compare"}:
            self.assertNotIn("regress", self.kab(command, "--help", code=0).stdout, command)
        self.assertIn("Of run, watch and compare 0 says that nothing regressed", flat(self.kab("--help", code=0).stdout))

    def test_every_command_takes_json(self):
        for command in COMMANDS:
            self.assertIn("--json", self.kab(command, "--help", code=0).stdout, command)
        error = self.kab("query", "--json", "--format", "csv", "select 1", code=2).stderr
        self.assertIn("--format excludes --json", error)

    def test_wrong_usage_is_exit_2(self):
        self.assertIn("did you mean 'query'", self.kab("qeury", code=2).stderr)
        for args in ([], ["run"], ["run", "--nosuch"],  ["query"], ["report", "--format", "pdf"], ["list", "extra"]):
            error = self.kab(*args, code=2).stderr
            self.assertRegex(error, r"\Akab: .*--help`.*\n\Z", args)
        for seed in ("-1", "x", "", "1.5", "18446744073709551616"):
            self.assertIn("whole number", self.kab("run", "--seed", seed, "x.yaml", code=2).stderr)
        self.assertIn("no option '--frob'", self.kab("--frob", code=2).stderr)

    def test_man_page_names_every_command_and_variable(self):
        page = (SOURCE / "docs/man/kab.1").read_text()
        for command in COMMANDS:
            self.assertRegex(page, rf"(?m)^\.B[RI]? {command}\b")
        read = set()
        for folder in ("common", "daemon", "agent", "cli"):
            for path in (SOURCE / folder).rglob("*.cpp"):
                read.update(re.findall(r'"(KAB_[A-Z_]+)"', path.read_text()))
        self.assertIn("KAB_STATE_DIR", read)
        for variable in read - {"KAB_FAULT_POINT"}:  # only builds for tests read it: docs/reliability.md
            self.assertRegex(page, rf"(?m)^\.B {variable}$")


class FreshMachine(Case):
    def test_lists_are_empty(self):
        for command in ("list", "hosts", "kernels"):
            self.assertEqual(len(self.kab(command, code=0).stdout.splitlines()), 2)
            answer = json.loads(self.kab(command, "--json", code=0).stdout)
            self.assertEqual(list(answer.values()), [[]])

    def test_the_rest_says_that_nothing_was_run(self):
        for args in (["show"], ["report"], ["history", "small"], ["watch"], ["cancel", "last"], ["query", "select 1"]):
            self.assertIn("nothing has been run yet", self.kab(*args, code=2).stderr)
        self.assertFalse(self.state.exists(), "a daemon was started where there is nothing to ask")

    def test_a_state_directory_that_is_none(self):
        self.write("file", "")
        for wrong in (self.dir / "file", self.dir / "file/below"):
            self.env["KAB_STATE_DIR"] = str(wrong)
            for args in (["list"], ["hosts"], ["run", "x.yaml"], ["query", "select 1"]):
                self.assertIn(f"{self.dir}/file is no directory", self.kab(*args, code=2).stderr, args)
        self.env["KAB_STATE_DIR"] = str(self.state)  # for the end

    def test_nowhere_to_keep_things(self):
        for name in ("HOME", "KAB_STATE_DIR", "XDG_STATE_HOME"):
            self.env.pop(name, None)
        self.assertIn("HOME", self.kab("list", code=2).stderr)
        self.env["KAB_STATE_DIR"] = str(self.state)  # for the end


class BadFiles(Case):
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9))
    table = [  # name, text, what the messages must hold
        ("empty", "", ["empty"]),
        ("not YAML", "a: [1\nb: }", [":2:"]),
        ("many brackets", b"[" * 10_000_000, ["bad.yaml"]),
        ("alias bomb", bomb, ["bad.yaml:"]),
        ("no UTF-8", b"experiment: \xff\xfe\n", ["bad.yaml:1:"]),
        ("a list", "- a\n", ["bad.yaml:1:1"]),
        ("duplicate key", GOOD + "question: again\n", ["bad.yaml:12:1", "question"]),
        ("unknown key", GOOD.replace("decide:", "decied:"), ["bad.yaml:11:1", "decied", "decide"]),
        ("wrong type", GOOD.replace("{children: 10}", "[children]"), ["bad.yaml:10:11"]),
        ("negative count", GOOD.replace("10}", "-10}"), ["bad.yaml:10:22", "children"]),
        ("far too many", GOOD.replace("[3, 4]", "[3, 1e9]"), ["bad.yaml:11:21"]),
        ("unknown workload", GOOD.replace("ipcns-exit", "ipcns-exti"), ["bad.yaml:9:15", "ipcns-exit"]),
        ("missing image", GOOD.replace("kernel.img", "nothing.img"), ["bad.yaml:4:", "nothing.img"]),
        ("path outside", GOOD.replace("kernel.img", "../../etc/passwd"), ["bad.yaml:4:", "../../etc/passwd"]),
        ("missing tarball", GOOD.replace("{image: kernel.img}", "{tarball: /no/linux.tar.xz}"),
         ["bad.yaml:4:", "/no/linux.tar.xz"]),
        ("two errors", GOOD.replace("10}", "-10}").replace("decide:", "decied:"), ["children", "decied", "2 errors"]),
    ]

    def test_each_is_refused_with_its_place(self):
        self.write("kernel.img", looks_like_a_kernel())
        for name, text, expected in self.table:
            self.write("bad.yaml", text)
            for command in ("check", "run", "submit"):
                with self.subTest(name, command=command):
                    done = self.kab(command, "bad.yaml", code=2)
                    self.assertEqual(done.stdout, "")
                    for part in expected:
                        self.assertIn(part, done.stderr)
                    for line in done.stderr.splitlines():
                        self.assertLess(len(line), 500)
        self.assertFalse(self.state.exists(), "a daemon was started for a file that is wrong")

    def test_files_that_cannot_be_read(self):
        self.assertIn("nosuch.yaml", self.kab("run", "nosuch.yaml", code=2).stderr)
        self.assertIn(str(self.dir), self.kab("run", str(self.dir), code=2).stderr)

    def test_a_series_that_lists_what_is_not_there(self):
        (self.dir / "tree").mkdir()
        (self.dir / "patches").mkdir()
        self.write("patches/series", "# first\n0001-a.patch\n")
        text = GOOD.replace("{image: kernel.img}", "{dir: tree}").replace("change: {}", "change: {patches: [patches]}")
        self.write("bad.yaml", text)
        self.assertIn("series:2: there is no patch 0001-a.patch", self.kab("check", "bad.yaml", code=2).stderr)


class Simulate(Case):
    def refused(self, text, *options):
        self.write("kernel.img", looks_like_a_kernel())
        self.write("new.yaml", text)
        return flat(self.kab("simulate", "new.yaml", *options, code=2).stderr)

    def test_assumes_nothing_of_exact_mode(self):
        exact = GOOD + "host: {exact: true}\n"
        self.assertIn("nothing is known of how ipcns-exit/elapsed varies in exact mode", self.refused(exact))
        self.assertIn("give --sd-boot and --sd-run (0 for", self.refused(exact, "--sd-boot", "0.1%"))
        self.kab("simulate", "new.yaml", "--sd-boot", "0.1%", "--sd-run", "0", code=0)

    def test_assumes_nothing_of_a_quantile(self):
        tail = GOOD.replace("    with: {children: 10}\n", "    with: {children: 10}\n    score: p99\n")
        self.assertIn("nothing is known of how the p99 of ipcns-exit/elapsed varies", self.refused(tail))
        self.assertIn("give --sd-boot alone", self.refused(tail, "--sd-boot", "1%", "--sd-run", "2%"))
        answer = json.loads(self.kab("simulate", "new.yaml", "--sd-boot", "1%", "--json", code=0).stdout)
        self.assertEqual(answer["score"], "p99")
        self.assertIsNone(answer["sd_run"])
        self.assertAlmostEqual(answer["sd_difference"], answer["sd_boot"]["sd"] * 2**0.5)


class Check(Case):
    def test_shows_what_would_run(self):
        self.write("kernel.img", looks_like_a_kernel())
        self.write("good.yaml", GOOD)
        text = self.kab("check", "good.yaml", code=0).stdout
        for part in ("small", "margin 2%", "512 MiB", "run 5m", "evaluation 24h", "base  (baseline)",
                     "change  (against base)", "control", "children=10", "9 boots"):
            self.assertIn(part, text)
        exported = json.loads(self.kab("check", "--export-json", "good.yaml", code=0).stdout)
        self.assertEqual(json.loads(self.kab("check", "--json", "good.yaml", code=0).stdout), exported)
        self.assertEqual(exported["arms"][0]["source"]["image"], str(self.dir / "kernel.img"))
        self.assertEqual(exported["decide"]["looks"], [3, 4])

    def test_shows_scores_and_exclusions(self):
        self.write("kernel.img", looks_like_a_kernel())
        text = GOOD.replace("    with: {children: 10}\n", "    with: {children: 10}\n    score: p99\n")
        self.write("tail.yaml", text + "exclude: {steal: 2%, host-load: 0.5, throttled: true}\n")
        text = self.kab("check", "tail.yaml", code=0).stdout
        self.assertIn("score    p99 of the timed iterations", text)
        self.assertIn("with 5 iterations that is little else than their maximum: p99 takes 100 iterations", text)
        self.assertIn("exclude     blocks with host-load above 0.5, steal above 2%, throttled\n", text)

    def test_every_example_is_right(self):
        for path in (SOURCE / "configs/experiments").glob("*.yaml"):
            with self.subTest(path.name):
                if "linux-source-6.1" in path.read_text() and not pathlib.Path(
                        "/usr/src/linux-source-6.1.tar.xz").exists():
                    self.skipTest("linux-source-6.1 is not installed")
                self.kab("check", str(path), code=0)


class BadInputs(Case):
    """Files that are wrong in themselves are found by `kab check`, before a daemon is started; what only shows against
    the sources by `kab run`. In either case: one line that names the object, exit code 2, nothing left behind."""

    def assert_refused(self, expected, *command):
        done = self.kab(*command, code=2)
        self.assertEqual(done.stdout, "", command)
        lines = [line for line in done.stderr.splitlines() if all(part in line for part in expected)]
        self.assertTrue(lines, f"{command} does not name {expected}:\n{done.stderr}")
        self.assertLess(min(map(len, lines)), 500)

    def assert_found_by_check(self, name, *expected):
        for command in ("check", "run", "submit"):
            self.assert_refused(expected, command, name)
        self.assertFalse(self.state.exists(), "a daemon was started")

    def assert_found_by_run(self, name, *expected):
        self.kab("check", name, code=0)
        self.assert_refused(expected, "run", name)
        listed = json.loads(self.kab("list", "--json", code=0).stdout)["evaluations"]
        self.assertEqual([one["status"] for one in listed], ["failed"])
        kept = self.kab("query", "select count(*) as n from kernel where path <> ''", code=0).stdout
        self.assertEqual(kept, "n\n0\n", "a kernel was kept")

    def test_patch_with_crlf(self):
        self.write_mini()
        self.write("change.patch", PATCH.replace("\n", "\r\n"))
        self.assert_found_by_check("mini.yaml", "change.patch:1:", "CRLF", "dos2unix")

    def test_patch_for_another_tree(self):
        self.write_mini()
        self.write("change.patch", PATCH.replace("ipc/namespace.c", "net/socket.c"))
        self.assert_found_by_run("mini.yaml", "change.patch", "net/socket.c", "does not have")

    def test_hunk_that_does_not_apply(self):
        self.write_mini()
        self.write("change.patch", PATCH.replace("drop a reference", "take a reference"))
        self.assert_found_by_run("mini.yaml", "change.patch", "hunk at ipc/namespace.c:4 does not apply")

    def test_file_that_is_no_patch(self):
        self.write_mini()
        self.write("change.patch", "Dear all,\n\nplease find the patch attached.\n")
        self.assert_found_by_check("mini.yaml", "change.patch", "holds no diff")

    def test_symbol_that_does_not_exist(self):
        self.write_mini()
        self.write("mini.config", "CONFIG_PVH=y\nCONFIG_NO_SUCH_THING=y\n")
        self.assert_found_by_run("mini.yaml", "CONFIG_NO_SUCH_THING")

    def test_fragment_that_is_none(self):
        self.write_mini()
        self.write("mini.config", "PVH: yes\n")
        self.assert_found_by_check("mini.yaml", "mini.config:1", "CONFIG_NAME=y")

    def test_kernel_that_is_no_kernel(self):
        self.write("kernel.img", "this is no kernel\n")
        self.write("bad.yaml", GOOD)
        self.assert_found_by_check("bad.yaml", "not a kernel", str(self.dir / "kernel.img"))

    def test_path_outside(self):
        self.write_mini()
        self.write("mini.yaml", MINI.replace("change.patch", "../change.patch"))
        self.assert_found_by_check("mini.yaml", "mini.yaml:7:", "../change.patch")

    def test_missing_files(self):
        self.write_mini()
        for name in ("tree", "mini.config", "change.patch"):
            with self.subTest(name):
                self.write("mini.yaml", MINI.replace(name, "no-" + name))
                self.assert_found_by_check("mini.yaml", "mini.yaml:", "no-" + name)


class Daemon(Case):
    def setUp(self):
        super().setUp()
        self.write("kernel.img", looks_like_a_kernel())
        self.write("small.yaml", GOOD)

    def test_a_build_that_fails(self):
        self.write_mini()
        with open(self.dir / "tree/ipc/namespace.c", "a") as source:
            source.write("this is no C\n")
        done = self.kab("run", "mini.yaml", code=3)
        self.assertEqual(done.stdout, "")
        self.assertIn("ipc/namespace.c:10:", done.stderr)
        self.assertTrue(self.daemon()["private"])
        listed = json.loads(self.kab("list", "--json", code=0).stdout)["evaluations"]
        self.assertEqual([(e["experiment"], e["status"]) for e in listed], [("mini", "failed")])
        self.end_daemon()
        # Without a daemon the same from the file.
        self.assertEqual(json.loads(self.kab("list", "--json", code=0).stdout)["evaluations"], listed)
        for name in ("last", "mini", listed[0]["uid"], listed[0]["uid"][:20]):
            self.assertIn("ipc/namespace.c:10:", flat(self.kab("show", name, code=0).stdout))
        self.assertIn("has already ended", self.kab("cancel", "last", code=2).stderr)
        self.kab("show", "nosuch", code=2)
        # What has ended needs no daemon to be watched; its failure is named and its code the same.
        self.assertRegex(self.kab("watch", "last", code=3).stderr, r"(?m)^kab: arm base failed: .*ipc/namespace.c:10:")
        self.assertIsNone(self.daemon())
        quiet = self.kab("run", "--quiet", "mini.yaml", code=3)
        self.assertRegex(quiet.stderr, r"(?m)^kab: arm base failed: .*ipc/namespace.c:10:")
        for command in ("list", "hosts", "kernels", "show"):
            text = self.on_terminal(command, columns=80)
            self.assertGreater(len(text.splitlines()), 2, command)
            for line in text.splitlines():
                if " " in line.strip():  # a path is not broken
                    self.assertLessEqual(len(line), 80, command)

    def test_names_that_name_nothing(self):
        self.use_hanging_builder()
        uid = self.kab("submit", "small.yaml", code=0).stdout.strip()
        for end in (lambda: None, self.kill_daemon):  # asked of the daemon, and of the file
            end()
            for command in ("show", "report", "history", "watch", "cancel"):
                self.assertIn("its uid, its experiment, or last", self.kab(command, "", code=2).stderr)
            self.assertIn("four characters or more", self.kab("show", uid[:3], code=2).stderr)
            self.assertNotIn("four characters", self.kab("show", "xyz", code=2).stderr)
        self.assertIsNone(self.daemon())

    def test_a_reader_that_goes_away_is_no_error(self):
        self.use_hanging_builder()
        many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000) select i from n"
        self.kab("submit", "small.yaml", code=0)
        for args in (["query", many], ["query", many, "--json"]):
            process = self.start(*args)
            self.assertTrue(process.stdout.read(1))
            process.stdout.close()
            self.assertEqual(process.stderr.read(), "")
            self.assertEqual(process.wait(timeout=60), -signal.SIGPIPE)

    def test_json_of_cancel_and_query(self):
        self.use_hanging_builder()
        uid = json.loads(self.kab("submit", "--json", "small.yaml", code=0).stdout)["uid"]
        self.assertEqual(json.loads(self.kab("cancel", "--json", uid, code=0).stdout), {"uid": uid})
        self.assertEqual(json.loads(self.kab("query", "--json", "select uid from evaluation", code=0).stdout),
                         [{"uid": uid}])

    def test_the_example_of_query_works_as_it_stands(self):
        self.use_hanging_builder()
        self.kab("submit", "small.yaml", code=0)
        example = re.search(r'kab query "([^"]+)"', flat(self.kab("query", "--help", code=0).stdout))[1]
        self.assertIn("evaluation = (", example)
        self.assertEqual(self.kab("query", example, code=0).stdout, "arm,count(*),avg(value)\n")

    def test_hosts_are_not_up_without_a_daemon(self):
        self.use_programs(kab_build=HANGS)
        self.kab("submit", "small.yaml", code=0)
        up = wait_until(lambda: json.loads(self.kab("hosts", "--json", code=0).stdout)["hosts"], 30, "a host is up")
        self.assertEqual([host["status"] for host in up], ["up"])
        self.assertRegex(self.kab("hosts", code=0).stdout, r"(?m)^  memory +[\d.]+ [GM]iB$")
        self.kill_daemon()
        down = json.loads(self.kab("hosts", "--json", code=0).stdout)["hosts"]
        self.assertEqual([host["status"] for host in down], ["no daemon"])
        self.assertRegex(self.kab("hosts", code=0).stdout, r"(?m)^\S+ +qemu +no daemon ")


    def test_query(self):
        self.use_hanging_builder()
        self.kab("submit", "small.yaml", code=0)
        sql = "select 1 as one, 2.5 as real, null as none, 'a,\"b' as text, name from arm order by position"
        table = self.kab("query", sql, "--format", "table", code=0).stdout.splitlines()
        self.assertEqual(table[0].split(), ["one", "real", "none", "text", "name"])
        self.assertEqual(len(table), 5)
        self.assertEqual(len({len(line.rstrip()) - len(line.split()[-1]) for line in table}), 1, "not aligned")
        csv = self.kab("query", sql, code=0).stdout.splitlines()
        self.assertEqual(csv[:2], ["one,real,none,text,name", '1,2.5,,"a,""b",base'])
        rows = json.loads(self.kab("query", sql, "--format", "json", code=0).stdout)
        self.assertEqual(list(rows[0]), ["one", "real", "none", "text", "name"])
        self.assertEqual(rows[1], {"one": 1, "real": 2.5, "none": None, "text": 'a,"b', "name": "change"})
        self.assertEqual(self.kab("query", "select 1 as a where 0", code=0).stdout, "a\n")
        for wrong in ("selct 1", "select nosuch from arm", "delete from arm", "select 1; select 2", ""):
            self.assertTrue(self.kab("query", wrong, code=2).stderr, wrong)
        self.assertIn("same name", self.kab("query", "select 1 as a, 2 as a", "--format", "json", code=2).stderr)
        self.assertEqual(self.kab("query", "select count(*) as n from arm", code=0).stdout, "n\n3\n")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BIN / "kab", "version"], env=self.env, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard output", done.stderr)

    def test_many_at_a_time_start_one_daemon(self):
        self.use_hanging_builder()
        running = [self.start("submit", "small.yaml") for _ in range(6)]
        uids = {process.communicate(timeout=120)[0].strip() for process in running}
        self.assertEqual([process.returncode for process in running], [0] * 6)
        self.assertEqual(len(uids), 6)
        log = (self.state / "kabd.log").read_text()
        self.assertEqual(log.count(" serves "), 1, log)

    def test_interrupt_cancels_and_a_killed_cli_does_not(self):
        self.use_hanging_builder()
        first = self.start("run", "small.yaml")
        uid = self.wait_for_line(first, "evaluation ").split()[2]
        self.wait_for_line(first, "freezing")
        first.kill()
        first.wait()
        self.assertRegex(self.kab("show", uid, code=0).stdout, r"(?m)^status +freezing")
        watching = self.start("watch", uid)
        second = self.start("run", "small.yaml")
        other = self.wait_for_line(second, "evaluation ").split()[2]
        second.send_signal(signal.SIGINT)
        self.assertEqual(second.wait(timeout=60), 130)
        self.assertIn("cancelled", self.kab("show", other, code=0).stdout)
        self.assertRegex(self.kab("show", uid, code=0).stdout, r"(?m)^status +freezing")
        self.kab("cancel", uid, code=0)
        self.assertEqual(watching.wait(timeout=60), 130)

    def test_sigterm_ends_kab_and_not_the_evaluation(self):
        self.use_hanging_builder()
        running = self.start("run", "small.yaml")
        uid = self.wait_for_line(running, "evaluation ").split()[2]
        self.wait_for_line(running, "freezing")
        running.send_signal(signal.SIGTERM)
        self.assertEqual(running.wait(timeout=60), -signal.SIGTERM)
        self.assertRegex(self.kab("show", uid, code=0).stdout, r"(?m)^status +freezing")

    def test_after_an_interrupt_nothing_of_it_runs(self):
        self.use_hanging_builder("#!/bin/sh\necho $$ > $KAB_STATE_DIR/builder.pid\nexec sleep 3600\n")
        running = self.start("run", "small.yaml")
        self.wait_for_line(running, "freezing")
        pid_file = self.state / "builder.pid"
        wait_until(lambda: pid_file.exists() and pid_file.read_text().strip(), 30, "the builder runs")
        builder = os.pidfd_open(int(pid_file.read_text()))
        self.addCleanup(os.close, builder)
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=60), 130)
        self.assertTrue(select.select([builder], [], [], 0)[0], "kab has returned while the builder still runs")

    def test_an_interrupt_waits_for_a_daemon_to_hear_it(self):
        self.use_hanging_builder("#!/bin/sh\nmkfifo $KAB_STATE_DIR/go\n"
                                 "echo '{\"type\": \"progress\", \"step\": \"import\"}'\n"
                                 "read go <$KAB_STATE_DIR/go\n"
                                 "echo '{\"type\": \"progress\", \"step\": \"patch\"}'\nexec sleep 3600\n")
        running = self.start("run", "small.yaml")
        self.wait_for_line(running, "import")
        self.write("state/go", "go\n")
        self.wait_for_line(running, "patch")  # which comes by the stream of events: from now on kab only listens
        away = self.state / "away.sock"
        (self.state / "kabd.sock").rename(away)
        running.send_signal(signal.SIGINT)
        self.wait_for_line(running, "cancelling")
        away.rename(self.state / "kabd.sock")
        self.assertEqual(running.wait(timeout=60), 130)
        self.assertRegex(self.kab("show", "last", code=0).stdout, r"(?m)^status +cancelled")

    def test_a_queued_one_says_what_it_waits_for(self):
        self.use_hanging_builder()
        first = self.kab("submit", "small.yaml", code=0).stdout.strip()
        self.write("other.yaml", GOOD.replace("experiment: small", "experiment: other"))
        self.wait_for_line(self.start("run", "other.yaml"), "queued behind small (freezing)")
        self.wait_for_line(self.start("run", "small.yaml"), f"queued behind {first} (freezing), 1 more before this one")

    def test_a_seed_of_ones_own(self):
        self.use_hanging_builder()
        self.kab("submit", "--seed", "18446744073709551615", "small.yaml", code=0)
        self.wait_for_line(self.start("run", "--seed", "11", "small.yaml"), "evaluation ")
        seeds = self.kab("query", "select seed from evaluation order by id", code=0).stdout
        self.assertEqual(seeds.split(), ["seed", "18446744073709551615", "11"])

    def test_a_killed_daemon_is_started_again_and_goes_on(self):
        self.use_hanging_builder()
        running = self.start("run", "small.yaml")
        uid = self.wait_for_line(running, "evaluation ").split()[2]
        self.wait_for_line(running, "freezing")
        before = self.daemon()["pid"]
        self.kill_daemon()
        self.wait_for_line(running, "went away")
        self.kab("cancel", uid, code=0)
        self.assertEqual(running.wait(timeout=60), 130)
        self.assertNotEqual(self.daemon()["pid"], before)
        self.assertEqual(len(json.loads(self.kab("list", "--json", code=0).stdout)["evaluations"]), 1)

    def test_cancel_needs_no_daemon_started_beforehand(self):
        self.use_hanging_builder()
        uid = self.kab("submit", "small.yaml", code=0).stdout.strip()
        self.kill_daemon()
        self.kab("cancel", uid, code=0)
        self.assertEqual(self.kab("watch", uid, code=130).returncode, 130)

    def test_a_daemon_that_cannot_start_is_explained(self):
        self.state.mkdir()
        self.write("state/kab.db", "this is no database, but long enough to be looked at " * 40)
        done = self.kab("run", "small.yaml", code=3)
        self.assertIn("kab.db", done.stderr)
        self.assertIn("kabd.log", done.stderr)

    def test_a_daemon_that_never_stays_is_started_three_times(self):
        self.use_programs(kabd="#!/bin/sh\necho x >> $KAB_STATE_DIR/starts\n"
                               "echo 2026-03-01T12:00:00.000 critical the disk is full\necho ready >&3\n")
        error = self.kab("submit", "small.yaml", code=3).stderr
        self.assertIn("started 3 times", error)
        self.assertIn("the disk is full", error)
        self.assertEqual((self.state / "starts").read_text(), "x\n" * 3)

    def test_a_daemon_that_ends_at_once_is_quoted(self):
        self.use_programs(kabd="#!/bin/sh\necho 'kabd: libfoo.so: cannot open shared object file'\nexit 127\n")
        self.assertIn("libfoo.so", self.kab("submit", "small.yaml", code=3).stderr)

    def test_an_incomplete_installation_is_no_usage_error(self):
        (self.dir / "bin").mkdir()
        shutil.copy(BIN / "kab", self.dir / "bin/kab")
        done = subprocess.run([self.dir / "bin/kab", "submit", "small.yaml"], env=self.env, cwd=self.dir, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("program kabd not found", done.stderr)


class OtherVersions(Case):
    """A daemon of another version, played by a small server on the socket."""

    def serve(self, private, shutdown_status):
        asked = []
        state = self.state

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.answer(200, {"version": "0.0.1", "api": 1, "pid": 4711, "private": private})

            def do_POST(self):
                asked.append(self.path)
                if shutdown_status == 202:  # before the answer: kab looks whether the socket is gone
                    (state / "kabd.sock").unlink()
                self.answer(shutdown_status, {"code": "conflict", "message": "busy", "where": ""})

            def address_string(self):
                return "kab"

            def log_message(self, *args):
                pass

        self.state.mkdir()
        server = socketserver.ThreadingUnixStreamServer(str(self.state / "kabd.sock"), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def stop():
            server.shutdown()
            server.server_close()
            thread.join()
            (self.state / "kabd.sock").unlink(missing_ok=True) if not self.replaced else None
        self.replaced = shutdown_status == 202
        self.addCleanup(stop)
        self.write("kernel.img", looks_like_a_kernel())
        self.write("small.yaml", GOOD)
        return asked

    def test_one_that_kab_did_not_start_is_named(self):
        asked = self.serve(False, 409)
        error = self.kab("submit", "small.yaml", code=3).stderr
        self.assertIn("kabd 0.0.1 (pid 4711, not started by kab)", error)
        self.assertEqual(asked, [])

    def test_a_busy_private_one_is_named(self):
        asked = self.serve(True, 409)
        self.assertIn("kabd 0.0.1 (pid 4711, private) is busy", self.kab("submit", "small.yaml", code=3).stderr)
        self.assertEqual(asked, ["/v1/shutdown"])

    def test_an_idle_private_one_is_replaced(self):
        asked = self.serve(True, 202)
        self.kab("submit", "small.yaml", code=0)
        self.assertEqual(asked, ["/v1/shutdown"])
        self.assertNotEqual(self.daemon()["pid"], 4711)


if __name__ == "__main__":
    unittest.main(verbosity=2)
