"""Runs Trireme and its peers in turn for several rounds and writes build/bench/results.json.

Each measurement is one process, one at a time. Every round measures every contestant, so that a
slow minute of the machine affects all of them. Also measures the machine's peak, compilation with
empty caches, and the start of a process. report.py turns the file into tables, goals and a plot.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
from importlib import metadata

import report
from cases import BIN, CASES, ROOT

OUT = os.path.join(ROOT, "build/bench")
COMPILED = ["resnet20", "transformer", "deepfm", "elementwise", "adam"]
SEQUENCES = ["sentiment", "own_lstm", "translation", "documents"]
PACKAGES = {"torch": "PyTorch", "paddlepaddle": "PaddlePaddle", "onnxruntime": "ONNX Runtime",
            "openvino": "OpenVINO"}


def caches(folder):
    return {"TRIREME_CACHE_DIR": f"{folder}/trireme", "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor"}


def run_one(command, threads, folder):
    """Returns the JSON line of one process, or None after a message on stderr."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), TRIREME_NUM_THREADS=str(threads),
               **caches(folder))
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"  failed: {error}", file=sys.stderr)
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        tail = (done.stderr.strip().splitlines() or ["no output"])[-1]
        print(f"  failed ({done.returncode}): {' '.join(command[1:])}: {tail}", file=sys.stderr)
        return None
    return json.loads(lines[-1])


def measure_cases(options, rows, number):
    """Runs one round and appends its results to rows[(case, threads, title)]."""
    for case in (CASES[name] for name in options.cases):
        for threads in options.threads:
            turn = number % len(case.contestants)
            for contestant in case.contestants[turn:] + case.contestants[:turn]:
                line = contestant.line(case.program_case, threads, options.seconds)
                result = run_one(line, threads, f"{OUT}/cache")
                if result is None:
                    continue
                row = rows.setdefault((case.name, threads, contestant.title), {
                    "case": case.name, "threads": threads, "title": contestant.title,
                    "who": contestant.who, "group": contestant.group, "rates": [], "peak_mb": []})
                row["rates"].append(result["steps_per_second"])
                row["peak_mb"].append(result.get("peak_mb"))
                print(f"round {number + 1}  {case.name:16}  {threads} thread(s)  "
                      f"{contestant.title:16} {result['steps_per_second']:10.2f} steps/s", flush=True)


def measure_compilation(options, compiled, number):
    """Runs one round with empty caches and appends its seconds to compiled[(case, title)]."""
    threads = max(options.threads)
    for case in (CASES[name] for name in options.cases if name in COMPILED):
        for contestant in case.contestants:
            if contestant.group != "ours" and contestant.variant != "compile":
                continue
            folder = f"{OUT}/empty"
            shutil.rmtree(folder, ignore_errors=True)
            result = run_one(contestant.line(case.program_case, threads, 0.5), threads, folder)
            shutil.rmtree(folder, ignore_errors=True)
            if result is None:
                continue
            seconds = result["compile_seconds"]
            compiled.setdefault((case.name, contestant.title), []).append(seconds)
            print(f"round {number + 1}  {case.name:16}  compiles   {contestant.title:16} "
                  f"{seconds:10.2f} s", flush=True)


def measure_start(options, started, number):
    """Runs one round: a process that predicts once, and a process that imports torch."""
    del options
    commands = {"trireme": [f"{BIN}/predict_case", "mlp", "1", "0"],
                "import torch": [sys.executable, "-c", "import torch"]}
    for title, command in commands.items():
        env = dict(os.environ, **caches(f"{OUT}/cache"))
        begin = time.perf_counter()
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            print(f"  failed: {' '.join(command)}", file=sys.stderr)
            continue
        started.setdefault(title, []).append(seconds)
        print(f"round {number + 1}  start             {title:16} {seconds:10.3f} s", flush=True)


def measure_peaks(options, peaks):
    """Measures the machine's peaks and keeps the best of all rounds."""
    for threads in options.threads:
        result = run_one([f"{BIN}/machine_peak", str(threads)], threads, f"{OUT}/cache")
        best = peaks.setdefault(str(threads), {"gflops": 0.0, "copy_gb_per_s": 0.0})
        for key in best:
            best[key] = max(best[key], result[key] if result else 0.0)


def machine():
    with open("/proc/cpuinfo") as f:
        names = re.findall(r"^model name\s*: (.*)$", f.read(), re.M)
    return f"{names[0] if names else 'unknown CPU'}, {len(names)} logical CPUs"


def versions():
    found = {}
    for package, title in PACKAGES.items():
        try:
            found[title] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[title] = "not installed"
    return found


def measure(options):
    rows, compiled, started, peaks = {}, {}, {}, {}
    load = os.getloadavg()[0]
    for number in range(options.rounds):
        measure_peaks(options, peaks)
        measure_cases(options, rows, number)
        if number < options.compile_rounds:
            measure_compilation(options, compiled, number)
        if options.start:
            measure_start(options, started, number)
    return {
        "machine": machine(), "versions": versions(), "date": str(datetime.date.today()),
        "command": "benchmarks/run.sh " + " ".join(sys.argv[1:]),
        "rounds": options.rounds, "seconds": options.seconds,
        "load": [load, os.getloadavg()[0]], "peaks": peaks, "rows": list(rows.values()),
        "compile": [{"case": case, "title": title, "seconds": seconds}
                    for (case, title), seconds in compiled.items()],
        "start": started,
    }


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="cases to measure (default: all): " + ", ".join([*CASES, "start"]))
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds (default: 5)")
    parser.add_argument("--seconds", type=float, default=4,
                        help="seconds per measurement (default: 4)")
    parser.add_argument("--compile-rounds", type=int, default=1,
                        help="rounds that measure compilation with empty caches (default: 1)")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2],
                        help="numbers of threads to measure with (default: 1 2)")
    parser.add_argument("--json", default=f"{OUT}/results.json", help="file for the results")
    parser.add_argument("--page", action="store_true",
                        help="also write docs/reference/performance.md and performance.svg")
    options = parser.parse_args()
    for name in options.cases:
        if name not in CASES and name != "start":
            parser.error(f"there is no case {name!r}; cases are {', '.join([*CASES, 'start'])}")
    options.start = not options.cases or "start" in options.cases
    options.cases = [name for name in options.cases or CASES if name in CASES]
    return options


def run_script(name, cases):
    """Runs a script on the cases; returns False if it failed. Does nothing without cases."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    return not cases or subprocess.run([sys.executable, script, *cases]).returncode == 0


def prepare(options):
    """Checks that all contestants compute the same. Writes the models of the inference peers."""
    predicted = [CASES[name].program_case for name in options.cases if name.endswith("_predict")]
    trained = [name for name in options.cases if name in COMPILED + SEQUENCES]
    return run_script("export_models.py", predicted) and run_script("check.py", trained)


def main():
    options = parse()
    os.makedirs(OUT, exist_ok=True)
    if not prepare(options):
        print("nothing was measured, because the contestants do not compute the same\n"
              "  hint   the lines above name the case", file=sys.stderr)
        return 1
    results = measure(options)
    with open(options.json, "w") as f:
        json.dump(results, f, indent=1)
    print(f"\nwritten to {os.path.relpath(options.json)}\n")
    return report.show(results, options.page)


if __name__ == "__main__":
    sys.exit(main())
