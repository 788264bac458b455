"""kabd and its host killed at random moments of evaluations on a simulated host (fake_host.py), and the pipe between
them cut; emulators killed under the real host: at the end there are exactly the planned samples, none double, and the
same verdict as undisturbed. Kills at named places: fault_point_test.py.

KAB_KILLS=N (default 20): kills of each kind. KAB_KILL_SEED=N: the random moments; printed."""

import contextlib
import fcntl
import os
import random
import signal
import subprocess
import time
import unittest

import fake_guest as guest
from kab_env import alive, wait_until
from simulated_kab import SimulatedKab, with_section

KILLS = int(os.environ.get("KAB_KILLS", "20"))
SEED = int(os.environ.get("KAB_KILL_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
KILLS_AN_EVALUATION = 25


def undisturbed(kab, blocks):
    """The result of an evaluation to which nothing happens."""
    try:
        kab.start_daemon()
        kab.await_daemon()
        uid = kab.submit()
        kab.finish(uid)
        assert kab.samples_by_kind(uid) == kab.planned(blocks), kab.samples_by_kind(uid)
        return kab.result(uid)
    finally:
        kab.close()


class Kills(unittest.TestCase):
    """What the tests of kills share: an evaluation is made anew until there were enough of them."""

    def set_up(self, kab):
        self.kab = kab
        self.addCleanup(self.kab.close)
        self.random = random.Random(f"{SEED}/{self.id()}")
        self.kills = 0
        self.evaluations = 0

    def check(self, uid):
        self.assertEqual(self.kab.result(uid), self.undisturbed)
        self.assertEqual(self.kab.flaws(), [])
        self.evaluations += 1

    def told(self, what):
        attempts, lost, infra = self.kab.rows(
            "select count(*), sum(lost), sum(outcome = 'infra-error' and not lost) from attempt")[0]
        print(f"{what}: {self.kills} kills in {self.evaluations} evaluations; {attempts} attempts, {lost} lost with the "
              f"daemon, {infra} infra errors", flush=True)

    def wait(self, uid, seconds):
        """True if the evaluation ended within this time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.kab.ended(uid):
                return True
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.kab.daemon.wait(min(0.05, max(0.0, end - time.monotonic())))
                self.fail(f"kabd ended by itself: {self.kab.log_text()[-2000:]}")
        return False

    def disturb(self, kills, disturb, more=lambda: False):
        """A boot bears six infra errors: no more than one in each boot. `disturb` is true if it did; `more`: not yet
        enough happened, whatever the kills."""
        self.kab.start_daemon()
        self.kab.await_daemon()
        while self.kills < kills or more():
            uid = self.kab.submit()
            booted = -1
            while self.kills < kills and not self.wait(uid, self.random.uniform(0, 0.3)):
                boots = self.kab.rows("select count(*) from boot where status = 'done'")[0][0]
                if boots == booted or not disturb():
                    continue
                booted = boots
                self.kills += 1
            self.kab.finish(uid)
            self.check(uid)


class DaemonAndHost(Kills):
    BLOCKS = 6

    @staticmethod
    def simulated():
        return SimulatedKab(("base", "patched", "patched-2"), f"margin: 5%, fixed: {DaemonAndHost.BLOCKS}", iterations=2, warmup=1)

    @classmethod
    def setUpClass(cls):
        print(f"KAB_KILL_SEED={SEED} KAB_KILLS={KILLS}", flush=True)
        cls.undisturbed = undisturbed(cls.simulated(), cls.BLOCKS)
        assert cls.undisturbed[0][0][:2] == ("done", "improved"), cls.undisturbed[0]

    def setUp(self):
        self.set_up(self.simulated())

    def test_a_killed_daemon_loses_nothing(self):
        while self.kills < KILLS:
            self.kab.start_daemon()
            self.kab.await_daemon()
            uid = self.kab.submit()
            for _ in range(min(KILLS_AN_EVALUATION, KILLS - self.kills)):
                # One in four already while it starts.
                if self.random.random() < 0.75:
                    wait_until(lambda u=uid: self.kab.host() or self.kab.ended(u), 60, "the host is there")
                if self.wait(uid, self.random.uniform(0, 0.35)):
                    break
                host = self.kab.host()
                self.kab.kill()
                self.kills += 1
                if host:
                    wait_until(lambda pid=host: not alive(pid), 10, "the host ends with its daemon")
                self.kab.start_daemon()
            self.kab.finish(uid)
            self.check(uid)
            self.kab.end()
        self.told("SIGKILL of kabd")

    def test_a_lock_that_outlives_its_daemon_for_a_moment_is_waited_for(self):
        """As when kabd is killed while it starts a program: until the exec that one has the lock."""
        self.kab.state.mkdir()
        lock = open(self.kab.state / "kabd.lock", "w")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.kab.start_daemon()
        wait_until(lambda: "is held: waiting" in self.kab.log_text(), 30, "kabd has met the lock")
        fcntl.flock(lock, fcntl.LOCK_UN)
        self.kab.await_daemon()

    def signal_host(self, number):
        host = self.kab.host()
        if not host:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(host, number)
        wait_until(lambda: not alive(host), 30, "kabd ends a host it cannot speak with")
        return True

    def test_a_killed_host_loses_nothing(self):
        self.disturb(KILLS, lambda: self.signal_host(signal.SIGKILL))
        self.told("SIGKILL of kab-host")

    def test_a_cut_pipe_loses_nothing(self):
        self.disturb(KILLS, lambda: self.signal_host(signal.SIGUSR1))
        self.told("pipe cut")


class Emulator(Kills):
    """The real kab-host and QEMU, with guests of a few dozen bytes that say what they are built to say."""

    KILLS = max(KILLS // 4, 5)
    BLOCKS = 4
    CHILDREN = (8, 16, 24, 32)
    RUNS = 2 * len(CHILDREN)
    VARIANTS = 64
    DEATH = "the agent was killed by signal 9 (Killed)"  # as PID 1 of a real guest tells it

    @classmethod
    def simulated(cls, *in_a_run):
        """Each block has its points in an order of its own. By that, the arm and the run the guests choose what they say,
        so that a sample of another boot would be another."""
        def kernel(arm, elapsed):
            noise = random.Random(arm)
            steps = []
            for seq in range(1, cls.RUNS + 1):
                variants = [{"elapsed": round(elapsed * (1 + noise.uniform(-0.01, 0.01))) + 0.5, "backlog": 0.0}
                            for _ in range(cls.VARIANTS)]
                steps += [guest.started(seq), *(in_a_run if seq == 2 else ()), guest.finished(seq, variants)]
            return with_section(guest.build(guest.hello(), guest.READ_FRAME, *steps, guest.done(cls.RUNS), guest.RESET))

        return SimulatedKab(("base", "patched"), f"margin: 5%, fixed: {cls.BLOCKS}", iterations=2, counted=0,
                            kernels={"base": kernel("base", 9e8), "patched": kernel("patched", 7e8)}, children=cls.CHILDREN)

    @classmethod
    def setUpClass(cls):
        cls.undisturbed = undisturbed(cls.simulated(), cls.BLOCKS)
        evaluation, samples, _ = cls.undisturbed
        assert evaluation[0][:2] == ("done", "improved"), evaluation
        told = {}  # (arm, run) -> what each block has of it
        for block, arm, _, _, seq, _, _, _, metric, value in samples:
            if metric == "elapsed":
                told.setdefault((arm, seq), []).append(value)
        for place, values in told.items():
            assert len(set(values)) == len(values) == cls.BLOCKS, f"a sample of {place} could be another block's: {values}"

    def setUp(self):
        # In one boot of eight, so that a boot hardly ever meets with it six times.
        death = guest.perhaps(8, guest.error(0, self.DEATH), guest.RESET)
        self.set_up(self.simulated(death))

    def kill_emulator(self):
        """False when that was no infra error: between two boots there is none to kill, and one at its end is done."""
        attempts = self.kab.rows("select uid from attempt where status = 'dispatched'")
        emulators = self.kab.processes("qemu-system")
        if not attempts or not emulators:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(emulators[0], signal.SIGKILL)
        outcome = "select outcome from attempt where uid = ? and status = 'finished'"
        return wait_until(lambda: self.kab.rows(outcome, *attempts[0]), 60, "the boot ends")[0][0] == "infra-error"

    def test_killed_emulators_and_agents_lose_nothing(self):
        def deaths():
            return self.kab.rows("select count(*) from attempt where outcome = 'infra-error' and detail = ?",
                                 f"kab-agent: {self.DEATH} in run 2 of {self.RUNS}")[0][0]

        self.disturb(self.KILLS, self.kill_emulator, more=lambda: deaths() < self.KILLS // 5)
        self.told("SIGKILL of QEMU")
        print(f"agents of which PID 1 told that they were killed: {deaths()}", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
