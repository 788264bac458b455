#!/usr/bin/env python3
"""The figures of an analysis beside R on the same data, by turns in one run.

Makes one data set (4 arms x 20 points x 6 metrics x 32 blocks x 5 iterations), has kab and R compute all figures
of it five times each, checks that both give the same figures, and prints the times. R does it in two ways (stats_vs_r.R):
all comparisons at once as matrices, and by t.test, wilcox.test and aov for each. Neither writes sentences or warnings;
what kab takes with them is a line of its own. Then the time of a million samples and
of the exact tied Mann-Whitney test.

  cmake --build build/dev --target stats_vs_r
  tests/bench/stats_vs_r.py

R: scripts/install-packages.sh scripts/packages-bench.txt
exit codes: 0 the figures agree, 1 they do not or a program failed, 2 usage, 3 a program is missing
"""
import argparse
import array
import datetime
import math
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ARMS, POINTS, METRICS, BLOCKS, ITERATIONS = 4, 20, 6, 32, 5
FAILED, BOOTS = (1, 0, 5, 2), (33, 32, 37, 34)

# Columns after the key, and how far two programs may differ, relative.
COLUMNS = {
    "comparison": (3, [("n", 0)] + [(name, 1e-9) for name in (
        "estimate", "low", "high", "sd", "t", "df", "p", "p_sequential", "p_adjusted", "p_rank", "rank estimate",
        "rank low", "rank high", "rank level", "p_equivalence", "detectable")]),
    "component": (1, [(name, 1e-9) for name in ("block", "boot", "iteration", "trend")]),
    "summary": (2, [(name, 1e-9) for name in ("mean", "relative sd", "min", "max")]),
    "failure": (1, [("p", 1e-9)]),
}


def make_data(seed):
    """The doubles of stats_vs_r.cpp: sizes, failures, then iteration, point, metric, arm, block, the first fastest."""
    noise = random.Random(seed)
    values = array.array("d", [ARMS, POINTS, METRICS, BLOCKS, ITERATIONS, *FAILED, *BOOTS])
    for _ in range(BLOCKS):
        of_block = noise.gauss(0, 0.02)
        for arm in range(ARMS):
            boot = noise.gauss(0, 0.01)
            for metric in range(METRICS):
                effect = (0, -0.03, 0.004 * (metric - 2), 0)[arm]
                for point in range(POINTS):
                    level = math.log(1e6) + 0.1 * point + of_block + boot + effect + noise.gauss(0, 0.01)
                    for i in range(ITERATIONS):
                        values.append(math.exp(level + 0.002 * (i == 0) + noise.gauss(0, 0.005)))
    return values


def run(command):
    """(wall, CPU) seconds of a whole process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"stats_vs_r: {command[0]} failed: {done.stderr.strip()}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_with_words(program, data):
    """(wall, CPU) seconds of a first analysis with all that kab says of the figures."""
    done = subprocess.run([program, "--words", data], stdout=subprocess.PIPE, text=True, check=True)
    return tuple(map(float, done.stdout.split()))


def read(path):
    """{(kind, key...): [fields]} and the seconds of the figures: wall, CPU, and both of it done again."""
    rows, took = {}, None
    for line in path.read_text().splitlines():
        kind, *fields = line.split()
        if kind == "time":
            took = tuple(map(float, fields))
            continue
        keys = COLUMNS[kind][0]
        rows[(kind, *map(int, fields[:keys]))] = fields[keys:]
    return rows, took


def differences(ours, theirs):
    """Lines on what does not agree, and the largest relative difference of each column."""
    lines, largest = [], {}
    for key in sorted(ours.keys() ^ theirs.keys()):
        lines.append(f"{key}: only {'kab' if key in ours else 'R'} has it")
    for key in sorted(ours.keys() & theirs.keys()):
        for (name, allowed), a, b in zip(COLUMNS[key[0]][1], ours[key], theirs[key], strict=True):
            if a == "-" or b == "-":
                off = 0 if a == b else math.inf
            else:
                x, y = float(a), float(b)
                off = abs(x - y) / max(abs(x), abs(y)) if x != y else 0
            column = f"{key[0]} {name}"
            largest[column] = max(largest.get(column, 0), off)
            if not off <= allowed:
                lines.append(f"{key}: {name}: kab {a}, R {b}")
    return lines, largest


def find(options):
    program = options.bin / "stats_vs_r"
    if not program.exists():
        print(f"stats_vs_r: {program} is missing: cmake --build build/dev --target stats_vs_r", file=sys.stderr)
        sys.exit(3)
    if not shutil.which("Rscript"):
        print("stats_vs_r: Rscript is missing: scripts/install-packages.sh scripts/packages-bench.txt", file=sys.stderr)
        sys.exit(3)
    return program


def print_times(what, times):
    medians = [1e3 * statistics.median(one) for one in times]
    print(f"{what:37} {medians[0]:10.2f} " + " ".join(f"{m:10.2f} {m / medians[0]:7.1f}" for m in medians[1:]))


def compare(program, options):
    kinds = ("the figures alone, first time", "the figures again in the process", "whole process, start and files")
    times = {(kind, clock): ([], [], []) for kind in kinds for clock in ("wall", "CPU")}
    with tempfile.TemporaryDirectory(prefix="kab-bench-") as name:
        folder = pathlib.Path(name)
        data = folder / "data"
        with open(data, "wb") as out:
            make_data(options.seed).tofile(out)
        script = ["Rscript", "--vanilla", pathlib.Path(__file__).with_suffix(".R"), data]
        outs = [folder / "kab", folder / "matrices", folder / "calls"]
        commands = ([program, data, outs[0]], [*script, outs[1], "matrices"], [*script, outs[2], "calls"])
        results, words = [None, None, None], []
        for _ in range(options.runs):
            for which, command in enumerate(commands):
                process = run(command)
                results[which], inside = read(outs[which])
                for key, seconds in zip(times, (*inside, *process), strict=True):
                    times[key][which].append(seconds)
            words.append(run_with_words(program, data))
    print(f"{ARMS} arms x {POINTS} points x {METRICS} metrics x {BLOCKS} blocks x {ITERATIONS} iterations, "
          f"seed {options.seed}\nmedians of {options.runs} runs each, by turns; ms, and as multiples of kab's")
    print(f"{'':37} {'kab':>10} {'R matrices':>10} {'':7} {'R calls':>10}")
    for (kind, clock), of_programs in times.items():
        print_times(f"{kind}, {clock}", of_programs)
    wall, cpu = (1e3 * statistics.median(one) for one in zip(*words))
    print(f"{'figures, sentences and warnings, wall':37} {wall:10.2f}")
    print(f"{'figures, sentences and warnings, CPU':37} {cpu:10.2f}")
    lines, largest = differences(results[0], results[1])
    more, larger = differences(results[0], results[2])
    return lines + more, {key: max(largest[key], larger[key]) for key in largest}


def others(program):
    done = subprocess.run([program, "--others"], stdout=subprocess.PIPE, text=True, check=True)
    for line in done.stdout.splitlines():
        name, count, wall, cpu = line.split("|")
        print(f"{name:36} {int(count):>9,} samples  wall {1e3 * float(wall):9.2f} ms   CPU {1e3 * float(cpu):9.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/dev/tests"), help="folder of stats_vs_r")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = find(options)
    version = subprocess.run(["Rscript", "--version"], capture_output=True, text=True, check=True)
    words = (version.stdout + version.stderr).strip()
    print(f"{datetime.date.today()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {words}")
    lines, largest = compare(program, options)
    others(program)
    worst = max(largest, key=largest.get)
    print(f"largest relative difference between the figures: {largest[worst]:.1e} ({worst})")
    if lines:
        print(f"{len(lines)} figures do not agree:", *lines[:20], sep="\n  ")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
