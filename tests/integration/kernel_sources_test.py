"""kab-build on Debian's real kernel source: every kind of source, incremental builds, faults and kills."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from kab_env import BIN, SOURCE, TARBALL, wait_until

CACHE = pathlib.Path(
    os.environ.get("KAB_CACHE_DIR")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kab"
)
PATCH = SOURCE / "patches/linux-6.1/ipc-ns/0001-ipc-free-the-namespace-inline-in-put_ipc_ns.patch"
VM_CONFIG = SOURCE / "configs/kernel/vm.config"


def git(*args, cwd, env=None, data=None):
    identity = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *map(str, args)], cwd=cwd, input=data, capture_output=True, text=True, check=False,
        env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", **identity, **(env or {})},
    )
    assert done.returncode == 0, (args, done.stderr)
    return done.stdout.strip()


def working_in(directory):
    """Processes that name this directory or are in it: make's own environment has no mark of ours."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if str(directory) in command or os.readlink(entry / "cwd").startswith(str(directory)):
                    found[int(entry.name)] = command
    return found


class Builder:
    """Runs kab-build on a cache."""

    def __init__(self, directory, cache=CACHE):
        self.directory = pathlib.Path(directory)
        self.env = dict(os.environ, KAB_CACHE_DIR=str(cache), KAB_STATE_DIR=str(self.directory / "state"))
        self.serial = 0

    def start(self, command, argument, **options):
        self.serial += 1
        path = self.directory / f"{command}-{self.serial}.json"
        path.write_text(json.dumps(argument))
        return subprocess.Popen([BIN / "kab-build", command, path], env=self.env, stdout=subprocess.PIPE, text=True,
                                **options)

    def run(self, command, argument):
        """The last message; all others must be progress."""
        process = self.start(command, argument)
        out, _ = process.communicate()
        messages = [json.loads(line) for line in out.splitlines()]
        assert all(message["type"] == "progress" for message in messages[:-1]), messages
        last = messages[-1]
        assert (process.returncode == 0) == (last["type"] == "result"), (process.returncode, last)
        return last

    def freeze(self, kind, location, patches=(), config=(VM_CONFIG,), **more):
        request = {"kind": kind, "location": str(location), "patches": [str(patch) for patch in patches],
                   "config": [str(file) for file in config], **more}
        return self.run("freeze", request)

    def build(self, frozen):
        return self.run("build", frozen)

    def kernel(self, *args, **more):
        """Frozen and built, both of which must succeed."""
        frozen = self.freeze(*args, **more)
        assert frozen["type"] == "result", frozen
        built = self.build(frozen["frozen"])
        assert built["type"] == "result", built
        return frozen["frozen"], built["built"]


class KernelSources(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="kab-sources-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.builder = Builder(cls.directory)
        # Mainline first: so the inline arm is the incremental one here, and the cold one in the private cache below.
        cls.mainline_frozen, cls.mainline = cls.builder.kernel("tarball", TARBALL)
        cls.inline_frozen, cls.inline = cls.builder.kernel("tarball", TARBALL, [PATCH])
        cls.repository = cls.make_repository()

    @classmethod
    def make_repository(cls):
        """A repository with the source as tag `base`, the change as two commits on `topic`; it borrows the
        source's objects instead of holding 80000 files a second time."""
        repository = cls.directory / "linux"
        git("init", "-q", repository, cwd=cls.directory)
        (repository / ".git/objects/info/alternates").write_text(f"{CACHE / 'sources.git/objects'}\n")
        base = git("commit-tree", "-m", "base", cls.mainline_frozen["tree"], cwd=repository)
        git("tag", "base", base, cwd=repository)
        index = {"GIT_INDEX_FILE": str(cls.directory / "index")}
        git("read-tree", base, cwd=repository, env=index)
        tip = base
        for part in (["--include=ipc/shm.c"], ["--exclude=ipc/shm.c"]):
            git("apply", "--cached", *part, PATCH, cwd=repository, env=index)
            tree = git("write-tree", cwd=repository, env=index)
            tip = git("commit-tree", "-p", tip, "-m", f"ipc: {part[0]}", tree, cwd=repository)
        git("branch", "topic", tip, cwd=repository)
        return repository

    def assert_same_kernels(self, base, changed):
        for (frozen, built), (known_frozen, known) in (
            (base, (self.mainline_frozen, self.mainline)),
            (changed, (self.inline_frozen, self.inline)),
        ):
            self.assertEqual(built["code_signature"], known["code_signature"])
            if frozen["kind"] != "image":
                self.assertEqual(frozen["tree"], known_frozen["tree"])
                self.assertTrue(built["cached"], "the same source is the same kernel, wherever it comes from")

    def test_the_arms_differ(self):
        self.assertNotEqual(self.mainline["code_signature"], self.inline["code_signature"])
        self.assertEqual(self.mainline["format"], "vmlinux")
        self.assertRegex(self.mainline_frozen["release"], r"^6\.1\.\d+$")
        self.assertIn(self.mainline_frozen["release"], self.mainline_frozen["origin"])

    def test_git_refs(self):
        self.assert_same_kernels(
            self.builder.kernel("git", self.repository, ref="base"), self.builder.kernel("git", self.repository, ref="topic")
        )

    def test_mailbox_of_two_patches(self):
        mailbox = self.directory / "two.mbox"
        mailbox.write_text(git("format-patch", "--stdout", "base..topic", cwd=self.repository) + "\n")
        base, changed = self.builder.kernel("tarball", TARBALL), self.builder.kernel("tarball", TARBALL, [mailbox])
        self.assertEqual(len(changed[0]["patches"]), 2)
        self.assert_same_kernels(base, changed)

    def test_dirty_working_tree(self):
        git("checkout", "-q", "--detach", "base", cwd=self.repository)
        clean = self.builder.kernel("dir", self.repository)
        git("apply", PATCH, cwd=self.repository)
        self.assert_same_kernels(clean, self.builder.kernel("dir", self.repository))
        self.assertIn("ipc/shm.c", git("diff", "--name-only", cwd=self.repository))

    def test_prebuilt_images(self):
        copies = []
        for name, built in (("base", self.mainline), ("changed", self.inline)):
            copies.append(self.directory / name)
            shutil.copy(built["path"], copies[-1])
        self.assert_same_kernels(*(self.builder.kernel("image", copy, config=()) for copy in copies))
        stripped = self.directory / "stripped"
        subprocess.run(["strip", "-o", stripped, copies[1]], check=True)
        frozen, built = self.builder.kernel("image", stripped, config=())
        self.assertEqual(built["code_signature"], self.inline["code_signature"])
        copies[1].unlink()
        stripped.unlink()
        self.assertEqual(self.builder.build(frozen)["type"], "result", "an image is copied when it is submitted")

    def test_editing_one_patch_rebuilds_only_that_arm(self):
        patch = self.directory / "edited.patch"
        text = PATCH.read_text()
        # The first added line of the diff, with a comment behind it.
        added = next(line for line in text.splitlines() if line.startswith("+\t"))
        # Before the first edit the work tree may hold anything: the kernels above may come from the cache.
        for edit in ("first", "second"):
            patch.write_text(text.replace(added, added + f" /* {self.directory.name} {edit} */", 1))
            _, edited = self.builder.kernel("tarball", TARBALL, [patch])
            self.assertFalse(edited["cached"])
        self.assertLess(edited["objects"], 60)
        self.assertEqual(edited["code_signature"], self.inline["code_signature"], "a comment is no machine code")
        self.assertTrue(self.builder.kernel("tarball", TARBALL)[1]["cached"])
        self.assertTrue(self.builder.kernel("tarball", TARBALL, [PATCH])[1]["cached"])

    def test_symbols_that_are_not_granted(self):
        fragment = self.directory / "more.config"
        for symbol, expected in (
            ("KEXEC_FILE", "was not granted: Kconfig made it n; it depends on"),
            ("IPC_NSS", "does not exist in this kernel; did you mean CONFIG_IPC_NS?"),
        ):
            fragment.write_text(f"# more\nCONFIG_{symbol}=y\n")
            frozen = self.builder.freeze("tarball", TARBALL, config=(VM_CONFIG, fragment))["frozen"]
            error = self.builder.build(frozen)
            self.assertEqual((error["type"], error["fault"], error["where"]), ("error", "spec", f"{fragment}:2"))
            self.assertIn(f"CONFIG_{symbol}=y {expected}", error["message"])
            self.assertNotIn("\n", error["message"])

    def test_a_patch_that_does_not_apply_names_the_hunk(self):
        patch = self.directory / "other.patch"
        patch.write_text(PATCH.read_text().replace("static DECLARE_WORK", "static DECLARE_TORK"))
        error = self.builder.freeze("tarball", TARBALL, [patch])
        self.assertEqual(error["fault"], "spec")
        self.assertRegex(error["message"], r"^hunk at ipc/namespace\.c:\d+ does not apply to linux-source-6\.1 6\.1\.\d+$")
        self.assertEqual(error["where"], "other.patch")

    def small_disk(self, megabytes):
        """A cache on a file system of its own, that will not hold what is to come."""
        mount = self.directory / f"disk-{megabytes}"
        mount.mkdir()
        try:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", mount], check=True,
                           capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("needs the right to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", mount], check=True)
        return mount / "cache"

    def assert_full_disk(self, error):
        self.assertEqual(error["fault"], "io", error)
        self.assertIn("disk full", error["message"])
        self.assertNotIn("\n", error["message"])

    def test_full_disk_while_importing(self):
        cache = self.small_disk(32)
        self.assert_full_disk(Builder(self.directory, cache).freeze("tarball", TARBALL))
        large = [path for path in cache.rglob("*") if path.is_file() and path.stat().st_size > 100000]
        self.assertEqual(large, [], "half a pack is left")

    def test_full_disk_while_building(self):
        sources = sum(path.stat().st_size for path in (CACHE / "sources.git").rglob("*") if path.is_file()) >> 20
        cache = self.small_disk(sources + 300)  # the checked-out source takes 1300
        shutil.copytree(CACHE / "sources.git", cache / "sources.git")
        self.assert_full_disk(Builder(self.directory, cache).build(self.mainline_frozen))
        self.assertEqual(list(cache.glob("worktrees/*/src")), [], "half a tree is left")
        self.assertEqual(list(cache.glob("kernels/*/vmlinux")), [])

    def test_cold_build_elsewhere_killed_once(self):
        """In a cache at another, longer path: killed with SIGKILL in the middle, built to its end, then the other
        arm. Both have the same code as in the shared cache, and the second arm costs a fraction of the first."""
        cache = self.directory / "a-cache-of-its-own-somewhere-else/kab"
        cache.mkdir(parents=True)
        shutil.copytree(CACHE / "sources.git", cache / "sources.git")  # saves importing it again
        builder = Builder(self.directory, cache)
        process = builder.start("build", self.inline_frozen, start_new_session=True)
        for line in process.stdout:
            message = json.loads(line)
            self.assertEqual(message["type"], "progress", message)
            if message["step"] == "compile" and message["done"] >= 20:
                break
        self.assertTrue(working_in(cache), "make is at work")
        process.kill()
        process.wait()
        process.stdout.close()
        wait_until(lambda: not working_in(cache), 30, "make and its children have ended")
        self.assertFalse((cache / "kernels").exists() and any((cache / "kernels").glob("*/vmlinux")))

        cold = builder.build(self.inline_frozen)["built"]
        second = builder.build(self.mainline_frozen)["built"]
        ratio = second["cpu_ns"] / cold["cpu_ns"]
        print(f"\ncold: {cold['objects']} objects, {cold['wall_ns'] / 1e9:.0f} s, CPU {cold['cpu_ns'] / 1e9:.0f} s; "
              f"second arm: {second['objects']} objects, {second['wall_ns'] / 1e9:.0f} s, "
              f"CPU {second['cpu_ns'] / 1e9:.0f} s = {ratio:.1%}")
        self.assertGreater(cold["objects"], 500)
        self.assertLess(second["objects"], 60)
        self.assertLessEqual(ratio, 0.25)
        self.assertEqual(cold["code_signature"], self.inline["code_signature"], "built elsewhere, cold, after a kill")
        self.assertEqual(second["code_signature"], self.mainline["code_signature"])

    def test_a_bzimage_has_the_signature_of_its_vmlinux(self):
        fragment = self.directory / "bzimage.config"
        fragment.write_text("# CONFIG_PVH is not set\n")
        _, built = self.builder.kernel("tarball", TARBALL, config=(VM_CONFIG, fragment))
        self.assertEqual(built["format"], "bzimage")
        _, prebuilt = self.builder.kernel("image", built["path"], config=())
        self.assertEqual(prebuilt["code_signature"], built["code_signature"])


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        unittest.main(verbosity=2)
