"""kab compare and kab simulate as a user sees them. The examples of docs/compare.md and docs/simulate.md are run and
their output compared with the page; KAB_UPDATE_DOCS=1 writes it there instead."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["KAB_BIN_DIR"])
SOURCE = pathlib.Path(os.environ["KAB_SOURCE_DIR"])
GOLDEN = SOURCE / "tests/golden/results"
UPDATE = bool(os.environ.get("KAB_UPDATE_DOCS"))


def flat(text):
    """Without the line ends that wrapping put in."""
    return " ".join(text.split())


def looks_like_a_kernel():
    """The header of a bzImage, and nothing that could boot."""
    image = bytearray(0x400)
    image[0x1FE:0x200] = b"\x55\xaa"
    image[0x202:0x206] = b"HdrS"
    image[0x236] = 1
    return bytes(image)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="kab-compare-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.env = dict(os.environ, HOME=str(self.dir), KAB_STATE_DIR=str(self.dir / "state"), LC_ALL="C.UTF-8",
                        PATH=f"{BIN}:{os.environ['PATH']}")

    def kab(self, *args, code=None, **kwargs):
        done = subprocess.run([BIN / "kab", *map(str, args)], env=self.env, cwd=self.dir, text=True, timeout=120,
                              capture_output=True, **kwargs)
        if code is not None:
            self.assertEqual(done.returncode, code, f"kab {' '.join(map(str, args))}\n{done.stdout}{done.stderr}")
        for line in done.stdout.splitlines():
            self.assertNotRegex(line, r"\b(nan|inf)\b")
        return done

    def write(self, name, text):
        path = self.dir / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def check_page(self, name):
        """Writes the files of a page, runs its commands, compares what they print."""
        page = SOURCE / "docs" / name
        text = page.read_text()
        parts = re.split(r"(^```\w+\n.*?^```$)", text, flags=re.M | re.S)
        commands = 0
        for i in range(1, len(parts), 2):
            kind, body = re.fullmatch(r"```(\w+)\n(.*?)```", parts[i], re.S).groups()
            if kind != "console":
                title = re.search(r"`([^`\n]+)`:\n\n\Z", parts[i - 1])
                self.assertIsNotNone(title, f"{name}: a block without the name of its file:\n{body}")
                self.write(title[1], body)
                continue
            shown = ""
            for command in re.findall(r"^\$ (.*)$", body, re.M):
                done = subprocess.run(["bash", "-c", command], env=self.env, cwd=self.dir, text=True, timeout=120,
                                      stdin=subprocess.DEVNULL, capture_output=True)
                self.assertEqual(done.stderr, "", f"{name}: {command}")
                shown += f"$ {command}\n{done.stdout}"
                commands += 1
            if UPDATE:
                parts[i] = f"```console\n{shown}```"
            else:
                self.assertEqual(body, shown, name)
        self.assertGreater(commands, 1)
        if UPDATE:
            page.write_text("".join(parts))


class Pages(Case):
    def test_the_examples_of_compare(self):
        self.check_page("compare.md")

    def test_the_examples_of_simulate(self):
        self.write("vmlinuz", looks_like_a_kernel())
        self.check_page("simulate.md")


class Compare(Case):
    def pair(self, kind):
        return {
            "google": ("google-old.json", "google-new.json"), "go": ("go-old.txt", "go-new.txt"),
            "perf": ("perf-old.csv", "perf-new.csv"), "column": ("column-old.txt", "column-new.txt"),
            "blocks": ("blocks.csv",), "hyperfine": ("hyperfine.json",),
        }[kind]

    def compare(self, kind, *args, code=None):
        return self.kab("compare", *[GOLDEN / name for name in self.pair(kind)], *args, code=code)

    def test_every_format_in_every_output(self):
        for kind, code in [("google", 4), ("go", 4), ("perf", 0), ("column", 0), ("blocks", 1), ("hyperfine", 0)]:
            with self.subTest(kind=kind):
                text = self.compare(kind, code=code).stdout
                self.assertLessEqual(max(map(len, text.splitlines())), 78)
                self.assertIn("Paired in blocks" if kind == "blocks" else "Not paired", text)
                markdown = self.compare(kind, "--format", "markdown", code=code).stdout
                self.assertTrue(markdown.startswith("# "))
                data = json.loads(self.compare(kind, "--json", code=code).stdout)
                self.assertEqual(data["paired"], kind == "blocks")
                rows = list(csv.DictReader(io.StringIO(self.compare(kind, "--format", "csv", code=code).stdout)))
                self.assertEqual(len(rows), len(data["comparisons"]))
                for row, comparison in zip(rows, data["comparisons"]):
                    self.assertIn(comparison["verdict"], flat(comparison["sentence"]))
                    self.assertIn(flat(comparison["sentence"]), flat(text))
                    self.assertEqual(float(row["estimate"]), comparison["estimate"])
                    self.assertEqual(int(row["n_arm"]), comparison["n"][0])

    def test_exit_codes_are_the_verdict(self):
        lower = self.write("lower", "\n".join(f"{9 + i / 100}" for i in range(9)))
        higher = self.write("higher", "\n".join(f"{10 + i / 100}" for i in range(9)))
        wide = self.write("wide", "5\n15\n8\n12\n")
        self.kab("compare", higher, lower, code=0)
        self.kab("compare", lower, higher, code=1)
        self.kab("compare", lower, higher, "--higher", "value", code=0)
        self.kab("compare", lower, lower, code=0)
        self.kab("compare", lower, higher, "--margin", "20%", code=0)
        self.kab("compare", lower, wide, code=4)
        self.kab("compare", self.write("one", "5\n"), lower, code=4)

    def test_the_verdict_is_that_of_the_primary_metrics(self):
        data = json.loads(self.compare("go", "--metric", "GobEncode/MB/s", "--metric", "JSONEncode/ns/op", "--json",
                                       code=0).stdout)
        self.assertEqual(data["verdict"], "improved")
        self.assertEqual([c["is_primary"] for c in data["comparisons"]], [True, False])
        self.assertIn("not asked for: GobEncode/ns/op, JSONEncode/MB/s", data["notes"])

    def test_three_arms_share_alpha(self):
        rows = ["arm,block,value"]
        for block in range(8):
            for arm, value in (("a", 100), ("b", 101), ("c", 120)):
                rows.append(f"{arm},{block},{value + (block * 7 + value) % 5 / 10}")
        done = self.kab("compare", self.write("arms.csv", "\n".join(rows)), code=1)
        self.assertIn("97.5% interval", flat(done.stdout))
        self.assertIn("2 arms against a", done.stdout)

    def test_standard_input_and_a_forced_format(self):
        values = "1\n2\n3\n"
        other = self.write("other", values)
        self.kab("compare", other, "-", input=values, code=4)
        done = self.kab("compare", other, other, "--input", "go-benchmark", code=2)
        self.assertIn("other: there is no line such as 'BenchmarkName-8", done.stderr)

    def test_errors_name_file_and_line_and_the_remedy(self):
        good = self.write("good", "1\n2\n")
        for args, message in [
            ((self.write("bad", "1\ntwo\n"), good), "bad:2: expected a number such as 12.5, one a line, not 'two'"),
            ((self.dir / "nowhere", good), "nowhere"),
            ((good,), "good: the file names no arms: give a second file to compare with, or a column 'arm'"),
            ((good, good, "--metric", "valeu"), "there is no metric 'valeu' (did you mean 'value'?); there are: value"),
            ((good, good, "--margin", "-1%"), "--margin: expected a share below 100%, such as 2%, not '-1%'"),
            ((good, good, "--margin", "200%"), "--margin: expected a share below 100%"),
            ((good, good, "--alpha", "0"), "--alpha: expected more than 0 and at most 0.5, not 0"),
            ((good, good, good), "see `kab compare --help`"),
            ((), "see `kab compare --help`"),
            ((self.write("x.json", '{"results": [{"command": "a"}]}'), good), "x.json: results[0].times: expected"),
            ((GOLDEN / "perf-intervals.csv", good), "perf-intervals.csv:3: these are intervals of one run"),
        ]:
            with self.subTest(message=message):
                done = self.kab("compare", *args, code=2)
                self.assertIn(message, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_what_blocks_lack_is_told(self):
        text = "arm,block,value\n" + "".join(
            f"{arm},{block},{10 + block + bonus}\n" for block in range(1, 7) for arm, bonus in (("a", 0), ("b", 1))
            if (arm, block) != ("b", 4))
        done = self.kab("compare", self.write("gap.csv", text))
        self.assertIn("b has no values in block 4", flat(done.stdout))
        self.assertIn("n = 5 blocks", flat(done.stdout))

    def test_failed_runs_are_counted_and_not_used(self):
        text = json.dumps({"results": [
            {"command": "a", "times": [1.0, 1.1, 1.05, 1.02], "exit_codes": [0, 0, 0, 0]},
            {"command": "b", "times": [1.0, 9.0, 1.05, 1.02], "exit_codes": [0, 1, 0, 0]}]})
        done = self.kab("compare", self.write("f.json", text))
        self.assertIn("1 of 4 runs failed with b, 0 of 4 with a (Fisher's exact p = 1); their values are not used",
                      flat(done.stdout))
        self.assertIn("n = 3 and 4 runs", flat(done.stdout))

    def test_a_million_values(self):
        text = "arm,block,iteration,value\n" + "".join(
            f"{'ab'[i % 2]},{i // 20000},{i // 2 % 10000},{100 + i * 7919 % 1000 / 100}\n" for i in range(1000000))
        data = json.loads(self.kab("compare", self.write("many.csv", text), "--json").stdout)
        self.assertEqual(data["comparisons"][0]["n"], [50])


SPEC = """\
experiment: small
kernel:
  source: {image: kernel.img}
arms:
  base: {}
  change: {}
workloads:
  - workload: ipcns-exit
decide: {looks: [6, 10, 16]}
"""


class Simulate(Case):
    def setUp(self):
        super().setUp()
        self.write("kernel.img", looks_like_a_kernel())
        self.spec = self.write("small.yaml", SPEC)

    def simulate(self, *args, code=0):
        return self.kab("simulate", self.spec, *args, code=code)

    def data(self, *args):
        return json.loads(self.simulate("--json", *args).stdout)

    def test_says_where_its_numbers_come_from(self):
        text = flat(self.simulate("--sd-run", "2%").stdout)
        self.assertIn("sd of boots 1.0% (assumed)", text)
        self.assertIn("sd of runs 2.0% (given)", text)
        self.assertIn("How boots and runs vary is assumed, not measured", text)
        self.assertNotIn("assumed", self.simulate("--sd-boot", "1%", "--sd-run", "1%").stdout)
        self.assertIn("How long that takes is unknown: no boot of this experiment, nor of such kernels in another, is "
                      "in the database", text)
        self.assertLessEqual(max(map(len, self.simulate().stdout.splitlines())), 78)

    def test_is_the_same_each_time_and_another_with_another_seed(self):
        self.assertEqual(self.simulate().stdout, self.simulate().stdout)
        self.assertNotEqual(self.data()["effects"], self.data("--seed", "5")["effects"])

    def test_shares_sum_up_and_grow_with_the_looks(self):
        data = self.data("--effect", "3%", "--sd-boot", "1%", "--sd-run", "1%")
        self.assertEqual([case["effect"] for case in data["effects"]], [0, 0.03])
        for case in data["effects"]:
            self.assertAlmostEqual(case["difference"] + case["equivalent"] + case["inconclusive"], 1)
            ended = [look["ended"] for look in case["looks"]]
            self.assertEqual(ended, sorted(ended))
            self.assertAlmostEqual(ended[-1], 1)
            self.assertIn(case["median_blocks"], [6, 10, 16])
        none, some = data["effects"]
        self.assertLess(none["difference"], 0.06)
        self.assertGreater(some["difference"], 0.9)
        self.assertGreater(some["looks"][-1]["higher"], 0.9)
        self.assertGreater(data["detectable"], 0.01)
        self.assertLess(data["detectable"], 0.03)
        self.assertIsNone(data["boot_time"])
        self.assertIsNone(none["looks"][0]["time_ns"])
        self.assertEqual(data["arms"], 3)

    def test_less_spread_needs_fewer_blocks(self):
        quiet = self.data("--sd-boot", "0.2%", "--sd-run", "0.2%")["effects"][0]
        loud = self.data("--sd-boot", "3%", "--sd-run", "0.2%")["effects"][0]
        self.assertLess(quiet["mean_blocks"], loud["mean_blocks"])

    def test_errors(self):
        for args, message in [
            (("--sd-boot", "much"), "--sd-boot: expected a share such as 2%, not 'much'"),
            (("--effect", "2 ms"), "--effect: expected a share such as 2%, not '2 ms'"),
            (("--sd-boot", "0%", "--sd-run", "0%"), "boots that do not vary at all need no simulation"),
            (("--from", "01ABCDEF"), "nothing has been run yet"),
        ]:
            with self.subTest(message=message):
                done = self.simulate(*args, code=2)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stdout, "")
        self.kab("simulate", self.write("bad.yaml", "experiment: 1x\n"), code=2)


if __name__ == "__main__":
    unittest.main()
