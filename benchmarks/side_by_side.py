#!/usr/bin/env python3
"""Compares two builds of Trireme on this machine, in one run.

    benchmarks/side_by_side.py OLD/build/release build/release
    benchmarks/side_by_side.py OLD/build/release build/release --rounds 9 --case deepfm

Each round measures every case with both builds, in an order that alternates from round to round, so
that a slow phase of the machine hits both. The speed of a build is the mean of the faster half of
its rounds, because other work on the machine and an unlucky placement of memory only slow a process
down. A case whose rounds differ by more than 15% gets up to four times as many. Prints a table with
the median of the rounds' ratios beside it, then one line "NAME: RATIO" for each result.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys

CASES = [("train_case", "resnet20"), ("train_case", "transformer"), ("train_case", "sentiment"),
         ("train_case", "deepfm"), ("predict_case", "resnet18")]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout + done.stderr


def steps_per_second(build, program, case, options):
    output = run([f"{build}/bin/{program}", case, str(options.threads), str(options.seconds)])
    return json.loads(output.strip().splitlines()[-1])["steps_per_second"]


def seconds_to_first_step(build, options):
    """Of a process whose kernels are in the cache."""
    output = run([f"{build}/bin/trireme", "train", options.job, "--time-to-first-step", "--no-sheet",
                  "--threads", str(options.threads), "--output", f"{options.out}/model",
                  "--set", "data.limit=128", "--set", "data.test_limit=64",
                  "--set", "train.epochs=1"])
    return float(re.search(r"first step after ([0-9.]+) s", output).group(1))


def in_rounds(measure, options):
    """The two measurements of each round: [(old, new)]. One run of each build comes before."""
    builds = [options.old, options.new]
    for build in builds:
        measure(build)
    rounds = []
    while len(rounds) < options.rounds or (len(rounds) < 4 * options.rounds and is_noisy(rounds)):
        order = builds if len(rounds) % 2 == 0 else builds[::-1]
        taken = {build: measure(build) for build in order}
        rounds.append((taken[options.old], taken[options.new]))
    return rounds


def is_noisy(rounds):
    return any(max(column) > 1.15 * min(column) for column in zip(*rounds))


def speeds(rounds):
    return [statistics.mean(sorted(column)[len(column) // 2:]) for column in zip(*rounds)]


def stripped_size(build, options):
    stripped = f"{options.out}/stripped.so"
    library = os.path.realpath(f"{build}/src/libtrireme_inference.so")
    subprocess.run(["strip", "-o", stripped, library], check=True)
    return os.path.getsize(stripped)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--case", action="append", help="measure only this case (repeatable)")
    parser.add_argument("--job", default="examples/jobs/fashion_mlp.toml", help="for the start")
    parser.add_argument("--out", default="build/side_by_side", help="folder for files")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)

    ratios = {}
    print(f"{'':16}{'old':>12}{'new':>12}   new / old (rounds: median, lowest to highest)")
    for program, case in CASES:
        if options.case and case not in options.case:
            continue
        rounds = in_rounds(lambda build: steps_per_second(build, program, case, options), options)
        each = [new / old for old, new in rounds]
        old, new = speeds(rounds)
        ratios[case] = new / old
        print(f"{case:16}{old:12.2f}{new:12.2f}   {ratios[case]:.3f} "
              f"({len(each)}: {statistics.median(each):.3f}, {min(each):.3f} to {max(each):.3f}) "
              "steps/s", flush=True)
    if not options.case:
        rounds = in_rounds(lambda build: 1 / seconds_to_first_step(build, options), options)
        old, new = (1 / rate for rate in speeds(rounds))
        ratios["first step"] = new / old
        print(f"{'first step':16}{old:12.3f}{new:12.3f}   {new / old:.3f} s, of a second start")
        old, new = (stripped_size(build, options) for build in (options.old, options.new))
        ratios["inference library"] = new / old
        print(f"{'library':16}{old:12d}{new:12d}   {new / old:.3f} bytes of libtrireme_inference.so, "
              "stripped")
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.4f}")


if __name__ == "__main__":
    main()
