"""Prints tables of the results of compare.py: report.py [--page] [FILE].

--page also writes docs/reference/performance.md and performance.svg.
"""

import argparse
import json
import os
import statistics
import sys

import plot
from cases import CASES, ROOT

PAGE = os.path.join(ROOT, "docs/reference/performance.md")
PLOT = os.path.join(ROOT, "docs/reference/performance.svg")
BEGIN, END = "<!-- compare: begin -->", "<!-- compare: end -->"
GROUPS = {"eager": "the fastest eager peer", "compile": "torch.compile",
          "runtime": "the faster of ONNX Runtime and OpenVINO", "any": "the fastest peer",
          "loop": "a loop of PyTorch or PaddlePaddle", "layer": "Trireme's LSTM layer"}
MEMORY_GOAL, COMPILE_GOAL, START_GOAL = 2.0, 20.0, 20.0  # ratios of the peer's value to Trireme's


def median(row):
    return statistics.median(row["rates"])


def rows_of(results, case, threads):
    return [r for r in results["rows"] if (r["case"], r["threads"]) == (case, threads)]


def thread_counts(results):
    return sorted({row["threads"] for row in results["rows"]})


def fastest(rows, group):
    rows = [r for r in rows
            if r["group"] == group or (group == "any" and r["group"] not in ("ours", "layer"))]
    return max(rows, key=median) if rows else None


def share_of_peak(results, row):
    """The machine's minimum time of a step over its measured time; 0 if the peak is unknown."""
    peak = results["peaks"].get(str(row["threads"]))
    if not peak or not peak["gflops"] or not peak["copy_gb_per_s"]:
        return 0.0
    case = CASES[row["case"]]
    limit = max(case.flops / (peak["gflops"] * 1e9), case.moved / (peak["copy_gb_per_s"] * 1e9))
    return limit * median(row)


def speed_goals(results):
    """Yields (what, threads, ratio or None, goal) of every speed goal of a case."""
    for case in CASES.values():
        for threads in thread_counts(results):
            rows = rows_of(results, case.name, threads)
            if not rows:
                continue
            mine = fastest(rows, "ours")
            for group, goal in case.goals.items():
                peer = fastest(rows, group)
                ratio = median(mine) / median(peer) if mine and peer else None
                against = GROUPS[group] + (f" ({peer['title']})" if peer else "")
                yield f"{case.title}: speed over {against}", threads, ratio, goal


def other_goals(results):
    """Yields the same for memory, compilation and process start."""
    for threads in thread_counts(results):
        peaks = {}
        for row in rows_of(results, "resnet20", threads):
            peaks.setdefault(row["who"], []).append(statistics.median(row["peak_mb"]))
        if peaks:
            others = [min(values) for who, values in peaks.items() if who != "trireme"]
            ratio = min(others) / min(peaks["trireme"]) if others and "trireme" in peaks else None
            yield "peak memory of ResNet-20 training: the lowest of the peers over Trireme", \
                threads, ratio, MEMORY_GOAL
    seconds = {(r["case"], r["title"]): statistics.median(r["seconds"]) for r in results["compile"]}
    for name in sorted({case for case, _ in seconds}):
        mine, peer = seconds.get((name, "trireme")), seconds.get((name, "torch compile"))
        ratio = peer / mine if mine and peer else None
        yield f"{CASES[name].title}: compile time of torch.compile over Trireme", None, ratio, \
            COMPILE_GOAL
    start = {title: statistics.median(times) for title, times in results["start"].items()}
    if start:
        both = "trireme" in start and "import torch" in start
        yield "time of import torch over Trireme's time from start to first result", None, \
            start["import torch"] / start["trireme"] if both else None, START_GOAL


def goals(results):
    return [*speed_goals(results), *other_goals(results)]


def goal_table(results):
    """A Markdown table, and the lowest share of a goal reached; 0 if a result is missing."""
    lines = ["| goal | threads | measured | required | |", "|---|---|---|---|---|"]
    lowest = None
    for what, threads, ratio, goal in goals(results):
        share = (ratio or 0.0) / goal
        lowest = share if lowest is None else min(lowest, share)
        measured = f"{ratio:.2f}x" if ratio is not None else "not measured"
        verdict = "met" if share >= 1 else "missed"
        lines.append(f"| {what} | {threads or ''} | {measured} | {goal:g}x | {verdict} |")
    return "\n".join(lines), lowest or 0.0


def speed_table(results):
    lines = ["| case | threads | contestant | steps/s (lowest-highest) | share of the machine's limit "
             "| peak memory | Trireme's speedup |", "|---|---|---|---|---|---|---|"]
    for case in CASES.values():
        for threads in thread_counts(results):
            rows = rows_of(results, case.name, threads)
            mine = fastest(rows, "ours")
            for row in sorted(rows, key=lambda r: (r["group"] != "ours", -median(r))):
                known = [m for m in row["peak_mb"] if m]
                memory = f"{statistics.median(known):.0f} MB" if known else ""
                ratio = f"{median(mine) / median(row):.2f}x" if mine and row is not mine else ""
                lines.append(
                    f"| {case.title} | {threads} | {row['title']} | {median(row):.4g} "
                    f"({min(row['rates']):.4g}-{max(row['rates']):.4g}) "
                    f"| {100 * share_of_peak(results, row):.0f}% | {memory} | {ratio} |")
    return "\n".join(lines)


def seconds_table(results):
    lines = ["| what | contestant | seconds |", "|---|---|---|"]
    for row in results["compile"]:
        lines.append(f"| compiling, {CASES[row['case']].title} | {row['title']} "
                     f"| {statistics.median(row['seconds']):.3f} |")
    for title, times in results["start"].items():
        what = "start to first result" if title == "trireme" else "start"
        lines.append(f"| {what} | {title} | {statistics.median(times):.3f} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def conditions(results):
    peaks = "; ".join(
        f"{threads} thread(s) {p['gflops']:.0f} GFLOP/s and {p['copy_gb_per_s']:.1f} GB/s"
        for threads, p in results["peaks"].items())
    versions = ", ".join(f"{title} {version}" for title, version in results["versions"].items())
    before, after = results["load"]
    return (f"{results['machine']}; peak {peaks}. {versions}. {results['date']}, "
            f"`{results['command'].strip()}`: medians of {results['rounds']} interleaved rounds of "
            f"{results['seconds']:g} s; load average {before:.1f} at the start and {after:.1f} at "
            f"the end.")


def write_page(text):
    """Puts the text between the markers of docs/reference/performance.md."""
    with open(PAGE) as f:
        page = f.read()
    head, tail = page.split(BEGIN)[0], page.split(END, 1)[1]
    with open(PAGE, "w") as f:
        f.write(f"{head}{BEGIN}\n{text}\n{END}{tail}")


def show(results, page):
    """Prints all tables; returns the exit status, 1 if nothing was measured."""
    goals_reached, lowest = goal_table(results)
    parts = [conditions(results), goals_reached, speed_table(results), seconds_table(results)]
    print("\n\n".join(part for part in parts if part))
    drawn = plot.draw(goals(results))
    with open(os.path.join(ROOT, "build/bench/performance.svg"), "w") as f:
        f.write(drawn)
    if page:
        with open(PLOT, "w") as f:
            f.write(drawn)
        titles = ["## Results of one run", "## Goals", "## All contestants",
                  "## Compile time and start"]
        parts[0] += "\n\n![Speed ratios and their goals](performance.svg)"
        write_page("\n\n".join(f"{t}\n\n{p}" for t, p in zip(titles, parts) if p))
        print("\nwritten to docs/reference/performance.md and docs/reference/performance.svg")
    print(f"\nlowest share of the goal: {lowest:.2f}")
    return 0 if results["rows"] or results["start"] else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default=os.path.join(ROOT, "build/bench/results.json"))
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    with open(options.file) as f:
        return show(json.load(f), options.page)


if __name__ == "__main__":
    sys.exit(main())
