"""Table, goals, page and plot of what compare.py measured: report.py [--page] [FILE]."""

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
          "loop": "a loop of PyTorch or PaddlePaddle", "layer": "the layer that we ship"}
LEAST_MEMORY, LEAST_COMPILE, LEAST_START = 2.0, 20.0, 20.0  # times better than the peer


def median(row):
    return statistics.median(row["rates"])


def of_case(results, case, threads):
    return [r for r in results["rows"] if (r["case"], r["threads"]) == (case, threads)]


def thread_counts(results):
    return sorted({row["threads"] for row in results["rows"]})


def fastest(rows, group):
    rows = [r for r in rows if r["group"] == group or (group == "any" and r["group"] not in ("ours", "layer"))]
    return max(rows, key=median) if rows else None


def share_of_peak(results, row):
    """The machine's limit for a step by the time that a step takes; 0 if the peak is unknown."""
    peak = results["peaks"].get(str(row["threads"]))
    if not peak or not peak["gflops"] or not peak["copy_gb_per_s"]:
        return 0.0
    case = CASES[row["case"]]
    limit = max(case.flops / (peak["gflops"] * 1e9), case.moved / (peak["copy_gb_per_s"] * 1e9))
    return limit * median(row)


def speed_goals(results):
    """(what, threads, ratio or None, goal) of every promise of a case's speed."""
    for case in CASES.values():
        for threads in thread_counts(results):
            rows = of_case(results, case.name, threads)
            if not rows:
                continue
            mine = fastest(rows, "ours")
            for group, goal in case.goals.items():
                peer = fastest(rows, group)
                ratio = median(mine) / median(peer) if mine and peer else None
                against = GROUPS[group] + (f" ({peer['title']})" if peer else "")
                yield f"{case.title} against {against}", threads, ratio, goal


def other_goals(results):
    """The same of memory, compilation and starting: how many times better than the peer."""
    for threads in thread_counts(results):
        peaks = {}
        for row in of_case(results, "resnet20", threads):
            peaks.setdefault(row["who"], []).append(statistics.median(row["peak_mb"]))
        if peaks:
            least = [min(values) for who, values in peaks.items() if who != "trireme"]
            ratio = min(least) / min(peaks["trireme"]) if least and "trireme" in peaks else None
            yield "peak memory of ResNet-20 training, the leanest peer's by ours", threads, ratio, \
                LEAST_MEMORY
    seconds = {(r["case"], r["title"]): statistics.median(r["seconds"]) for r in results["compile"]}
    for name in sorted({case for case, _ in seconds}):
        mine, peer = seconds.get((name, "trireme")), seconds.get((name, "torch compile"))
        ratio = peer / mine if mine and peer else None
        yield f"{CASES[name].title}: torch.compile's compile time by ours", None, ratio, \
            LEAST_COMPILE
    start = {title: statistics.median(times) for title, times in results["start"].items()}
    if start:
        both = "trireme" in start and "import torch" in start
        yield "import torch by process start to first result", None, \
            start["import torch"] / start["trireme"] if both else None, LEAST_START


def goals(results):
    return [*speed_goals(results), *other_goals(results)]


def goal_table(results):
    """Markdown, and the least share of a goal; 0 if a figure is missing."""
    lines = ["| promise | threads | measured | goal | |", "|---|---|---|---|---|"]
    least = None
    for what, threads, ratio, goal in goals(results):
        share = (ratio or 0.0) / goal
        least = share if least is None else min(least, share)
        measured = f"{ratio:.2f}x" if ratio is not None else "not measured"
        verdict = "met" if share >= 1 else "missed"
        lines.append(f"| {what} | {threads or ''} | {measured} | {goal:g}x | {verdict} |")
    return "\n".join(lines), least or 0.0


def speed_table(results):
    lines = ["| case | threads | contestant | steps/s (lowest-highest) | of the machine's limit "
             "| peak memory | Trireme is |", "|---|---|---|---|---|---|---|"]
    for case in CASES.values():
        for threads in thread_counts(results):
            rows = of_case(results, case.name, threads)
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
    peaks = "; ".join(f"{threads} thread(s) {p['gflops']:.0f} GFLOP/s and {p['copy_gb_per_s']:.1f} GB/s"
                      for threads, p in results["peaks"].items())
    versions = ", ".join(f"{title} {version}" for title, version in results["versions"].items())
    before, after = results["load"]
    return (f"{results['machine']}; at most {peaks}. {versions}. {results['date']}, "
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
    """Prints everything; gives the exit status: 1 if nothing was measured."""
    promised, least = goal_table(results)
    parts = [conditions(results), promised, speed_table(results), seconds_table(results)]
    print("\n\n".join(part for part in parts if part))
    drawn = plot.draw(goals(results))
    with open(os.path.join(ROOT, "build/bench/performance.svg"), "w") as f:
        f.write(drawn)
    if page:
        with open(PLOT, "w") as f:
            f.write(drawn)
        titles = ["## Figures of one run", "## Promises", "## All contestants",
                  "## Compiling and starting"]
        parts[0] += "\n\n![Trireme's lead and its goals](performance.svg)"
        write_page("\n\n".join(f"{t}\n\n{p}" for t, p in zip(titles, parts) if p))
        print("\nwritten to docs/reference/performance.md and docs/reference/performance.svg")
    print(f"\nlowest share of the goal: {least:.2f}")
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
