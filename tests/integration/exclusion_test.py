"""A block that the machine disturbed is booted again whole: real kernels beside a real load."""

import os
import subprocess
import unittest

from kab_env import Kab, small_spec, wait_until

# Made by the test; what else runs here must stay below BOUND. host-load is per CPU of the host, also where this process
# may use but a few of them, so the number is bounded.
TASKS_A_CPU = min(30, max(2, 320 // os.cpu_count()))
BOUND = TASKS_A_CPU * 2 // 3
CONDITIONS = ["canary", "host-load", "run-delay", "steal", "throttled"]


class Exclusion(unittest.TestCase):
    def setUp(self):
        self.kab = Kab()
        self.addCleanup(self.kab.close)

    def load(self):
        """Runnable tasks that leave the CPUs to everybody else; ended by what it returns."""
        spinners = [
            subprocess.Popen(["nice", "-n", "19", "sh", "-c", "while :; do :; done"])
            for _ in range(TASKS_A_CPU * os.cpu_count())
        ]

        def end():
            for spinner in spinners:
                spinner.kill()
                spinner.wait()

        self.addCleanup(end)
        return end

    def guest_is_up(self):
        return int(self.kab.query("select count(*) from attempt where accel <> ''")[0][0]) > 0

    def blocks(self):
        rows = self.kab.query("select number, repetition, status, cause, detail from block order by number, repetition")
        return [(int(number), int(repetition), *rest) for number, repetition, *rest in rows]

    def test_a_block_beside_a_load_is_booted_again_under_its_number(self):
        spec = self.kab.write(
            "small.yaml", small_spec(looks="[2]", extra=f"exclude: {{host-load: {BOUND}, throttled: true}}\n"))
        submitted = self.kab.run("submit", spec)
        self.assertEqual(submitted.returncode, 0, submitted.stderr)
        wait_until(self.guest_is_up, 1500, "a guest has said hello")
        end_load = self.load()
        wait_until(lambda: any(block[2] == "excluded" for block in self.blocks()), 120, "a block is excluded")
        end_load()
        done = self.kab.run("watch", "last", timeout=600)
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        out = self.kab.run("report", "last").stdout

        blocks = self.blocks()
        disturbed, repetition, _, cause, detail = next(block for block in blocks if block[2] == "excluded")
        with self.subTest("the block was tried again under its number, and every number counts once"):
            self.assertEqual((repetition, cause), (1, "host-load"))
            self.assertRegex(
                detail, rf"^host-load was [0-9.]+ tasks of others per CPU in run \d+ of \S+, more than {BOUND}$")
            self.assertEqual([block[0] for block in blocks if block[2] == "complete"], [1, 2])
            self.assertEqual([block[3] for block in blocks if block[2] == "complete"], ["", ""])
            for number in (1, 2):
                tries = [block[1] for block in blocks if block[0] == number]
                self.assertEqual(tries, list(range(1, len(tries) + 1)))
        with self.subTest("pairs are of one try: samples of the excluded one count nowhere, all arms have the same block"):
            counted = self.kab.query(
                "select distinct v_sample.block, v_sample.repetition, block.status from v_sample "
                "join block on block.number = v_sample.block and block.repetition = v_sample.repetition")
            self.assertEqual({row[2] for row in counted}, {"complete"})
            self.assertEqual(len(counted), 2)
            order = self.kab.query(
                f"select repetition, group_concat(arm) from (select * from v_boot where block = {disturbed} "
                "order by repetition, position) group by repetition")
            self.assertEqual(len({arms for _, arms in order}), 1, "each try boots the arms in the same order")
        with self.subTest("every run has its conditions, a value or a reason"):
            rows = self.kab.query(
                "select condition, count(*), sum(value is null), sum((value is null) = (reason is null)) "
                "from v_condition where block_status = 'complete' group by condition order by condition")
            self.assertEqual([row[0] for row in rows], CONDITIONS)
            self.assertEqual(len({row[1] for row in rows}), 1)
            self.assertEqual({row[3] for row in rows}, {0})
            absent = {row[0]: row[2] for row in rows}
            self.assertEqual((absent["canary"], absent["host-load"]), (0, 0))
            worst = self.kab.query(
                "select max(value) from v_condition where condition = 'host-load' and block_status = 'complete' "
                "and not warmup")
            self.assertLessEqual(worst[0][0], BOUND)
        with self.subTest("the report lists what was left out, and why"):
            flat = " ".join(out.split())
            self.assertIn(f"block {disturbed} is excluded and was booted again: host-load was", flat)
            self.assertIn("How quiet the machine was", flat)
            self.assertEqual([line for line in out.splitlines() if len(line) > 78], [])
            explained = " ".join(self.kab.run("report", "last", "--explain").stdout.split())
            self.assertIn(f"block {disturbed}, try 1: host-load was", explained)


if __name__ == "__main__":
    unittest.main()
