#!/usr/bin/env python3
"""Checks docs/reference/parity.md: each name of a row exists, and its oracle uses it.

    PYTHONPATH=build/release/python build/venv/bin/python tools/check_parity.py [--open]

Without the package trireme the Python names are not checked. Prints one line for each mistake,
then the number of items and of open cells; exits 1 if there is a mistake, or with --open an open
cell."""

import argparse
import importlib
import importlib.util
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROW = re.compile(r"\| (.*?) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$")
NAMES = re.compile(r"`([^`]+)`")


def text_of(paths):
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)


def has_word(word, text):
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def has_python(name):
    """Whether `tr.nn.linear` exists."""
    found = importlib.import_module("trireme")
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
        if found is None:
            return False
    return True


def rows():
    for line in (ROOT / "docs/reference/parity.md").read_text(encoding="utf-8").splitlines():
        match = ROW.match(line)
        if match and match[1] != "item" and not match[1].startswith("-"):
            yield match.groups()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--open", action="store_true")
    options = parser.parse_args()
    headers = text_of([*(ROOT / "include/trireme").glob("*.h"), *(ROOT / "src/ops").glob("*.cc")])
    jobs = text_of([ROOT / "docs/reference/job-options.md", ROOT / "docs/reference/job.md"])
    python = importlib.util.find_spec("trireme") is not None
    mistakes, items, left = [], 0, 0
    for item, in_cpp, in_python, in_job, oracle in rows():
        items += 1
        left += sum(cell == "open" for cell in (in_cpp, in_python, in_job, oracle))
        mistakes += [f"{item}: no {name} in C++" for name in NAMES.findall(in_cpp)
                     if not has_word(name, headers)]
        mistakes += [f"{item}: no {name} in Python" for name in NAMES.findall(in_python)
                     if python and not has_python(name)]
        mistakes += [f"{item}: no {name} in job files" for name in NAMES.findall(in_job)
                     if not has_word(name, jobs)]
        for path in NAMES.findall(oracle):
            text = text_of([ROOT / path]) if (ROOT / path).is_file() else ""
            names = [name.split(".")[-1] for name in NAMES.findall(in_cpp + in_python)]
            if not any(has_word(name, text) for name in names):
                mistakes.append(f"{item}: {path} does not use it")
    print("\n".join(mistakes), end="\n" if mistakes else "")
    print(f"{items} items, {left} open cells, {len(mistakes)} mistakes")
    return 1 if mistakes or (options.open and left) else 0


if __name__ == "__main__":
    sys.exit(main())
