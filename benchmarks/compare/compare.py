"""Runs every peer and Trireme in turn, several rounds, and reports medians and spread.

One process per measurement, one at a time, all peers within each round: a slow minute of the
machine hits every peer, not one. Of each framework's variants the fastest counts.
"""

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PAGE = os.path.join(ROOT, "docs", "performance.md")
BEGIN, END = "<!-- compare: begin -->", "<!-- compare: end -->"
GOALS = {"mlp": 1.5, "lenet": 2.0}
TITLES = {"mlp": "MLP 784-200-200-10", "lenet": "LeNet-style CNN"}
VARIANTS = {
    "torch": {"mlp": ["eager", "compile"], "lenet": ["eager", "eager-cl", "compile", "compile-cl"]},
    "paddle": {"mlp": ["dygraph", "jit", "static"], "lenet": ["dygraph", "jit", "static"]},
}


def commands(model, threads, seconds):
    """(framework, variant, command) of everything to measure."""
    rest = [str(threads), str(seconds)]
    rows = [("trireme", "", [os.path.join(ROOT, "build/release/bin/train_step"), model] + rest)]
    for framework, variants in VARIANTS.items():
        script = os.path.join(HERE, f"peer_{framework}.py")
        rows += [(framework, v, [sys.executable, script, model] + rest + [v])
                 for v in variants[model]]
    return rows


def run_one(command, threads):
    """The JSON line of one process, or None with a message on stderr."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), TRIREME_NUM_THREADS=str(threads))
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"  failed: {error}", file=sys.stderr)
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        tail = (done.stderr.strip().splitlines() or ["no output"])[-1]
        print(f"  failed ({done.returncode}): {' '.join(command[1:])}: {tail}", file=sys.stderr)
        return None
    return json.loads(lines[-1])


def measure(options):
    """{(model, threads, framework, variant): [steps per second of each round]}"""
    rates = {}
    for number in range(options.rounds):
        for model in options.models:
            for threads in options.threads:
                for framework, variant, command in commands(model, threads, options.seconds):
                    row = run_one(command, threads)
                    if row is None:
                        continue
                    key = (model, threads, framework, variant)
                    rates.setdefault(key, []).append(row["steps_per_second"])
                    print(f"round {number + 1}  {model:5}  {threads} thread(s)  "
                          f"{framework} {variant}: {row['steps_per_second']} steps/s", flush=True)
    return rates


def fastest(rates, model, threads, framework):
    """(variant, median, low, high) of a framework's fastest variant, or None."""
    rows = [(v, statistics.median(r), min(r), max(r)) for (m, t, f, v), r in rates.items()
            if (m, t, f) == (model, threads, framework)]
    return max(rows, key=lambda row: row[1]) if rows else None


def table(rates, options):
    """The markdown table, and the worst of ratio/goal over its rows (0 if ours did not run)."""
    lines = ["| model | threads | Trireme | PyTorch | PaddlePaddle | against the faster peer | goal |",
             "|---|---|---|---|---|---|---|"]
    worst = None
    for model in options.models:
        for threads in options.threads:
            cells, medians = [], {}
            for framework in ("trireme", "torch", "paddle"):
                best = fastest(rates, model, threads, framework)
                if best is None:
                    cells.append("did not run")
                    continue
                variant, median, low, high = best
                medians[framework] = median
                cells.append(f"{median:.0f} ({low:.0f}-{high:.0f})"
                             + (f" {variant}" if variant else ""))
            peers = [medians[f] for f in ("torch", "paddle") if f in medians]
            ratio = medians["trireme"] / max(peers) if "trireme" in medians and peers else 0.0
            worst = min(ratio / GOALS[model], worst if worst is not None else 1e9)
            lines.append(f"| {TITLES[model]} | {threads} | " + " | ".join(cells)
                         + f" | {ratio:.2f}x | {GOALS[model]}x |")
    return "\n".join(lines), worst or 0.0


def cpu_name():
    with open("/proc/cpuinfo") as f:
        names = re.findall(r"^model name\s*: (.*)$", f.read(), re.M)
    return f"{names[0] if names else 'unknown CPU'}, {len(names)} logical CPUs"


def versions():
    code = "import {0}; print({0}.__version__)"
    found = [subprocess.run([sys.executable, "-c", code.format(name)], capture_output=True,
                            text=True).stdout.strip() for name in ("torch", "paddle")]
    return f"PyTorch {found[0]}, PaddlePaddle {found[1]}"


def write_page(text):
    """Puts the table between the markers of docs/performance.md, which it creates if need be."""
    page = f"# Performance\n\n{BEGIN}\n{END}\n"
    if os.path.exists(PAGE):
        with open(PAGE) as f:
            page = f.read()
    if BEGIN not in page:
        page = page.rstrip() + f"\n\n{BEGIN}\n{END}\n"
    head, tail = page.split(BEGIN)[0], page.split(END, 1)[1]
    with open(PAGE, "w") as f:
        f.write(f"{head}{BEGIN}\n{text}\n{END}{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="per measurement")
    parser.add_argument("--models", nargs="+", default=list(GOALS), choices=list(GOALS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--json", help="also write all figures to this file")
    options = parser.parse_args()

    rates = measure(options)
    text, worst = table(rates, options)
    load = os.getloadavg()[0]
    about = (f"Training steps per second, batch 64, Adam, Fashion-MNIST images in memory; median "
             f"(lowest-highest) of {options.rounds} interleaved rounds of {options.seconds:g} s, "
             f"each framework in its fastest form (named). {cpu_name()}; {versions()}; "
             f"{datetime.date.today()}; load average at the end {load:.1f}. "
             f"`make bench` makes this table; benchmarks/README.md says how it measures.")
    write_page(f"## Training against PyTorch and PaddlePaddle\n\n{about}\n\n{text}")
    if options.json:
        with open(options.json, "w") as f:
            json.dump([{"model": m, "threads": t, "framework": w, "variant": v, "rates": r}
                       for (m, t, w, v), r in rates.items()], f, indent=1)
    print(f"\n{text}\n\nwritten to docs/performance.md")
    print(f"lowest share of the goal: {worst:.2f}")
    return 0 if rates else 1


sys.exit(main())
