#!/usr/bin/env python3
"""Faults that a tree of sources or a library shows without being run.

    tests/faults/check_tree.py [--root DIR] fuzzing
    tests/faults/check_tree.py [--root DIR] security
    tests/faults/check_tree.py hardening LIBRARY

Prints a line "missing: ..." for each finding, and exits 1 if there is any.

fuzzing     Fault 11: every reader of files and of text from outside has a fuzz target.
security    Fault 12: SECURITY.md says what may be trusted.
hardening   Fault 12: a released library has checked buffers, a guarded stack, and no writable
            table of addresses.
"""

import argparse
import pathlib
import re
import subprocess
import sys

# What is read from outside, and the calls by which a target of tests/fuzz reads it.
READERS = {
    "saved models": [r"\bload_model\("],
    "JSON of jobs in saved models": [r"\bjob::parse_json\("],
    "checksums.txt": [r"\bCheckedFolder\b"],
    "lines of metrics": [r"\blines_of_steps\("],
    "corpora": [r"\bcorpus_of_lines\("],
    "tokens": [r"(?<!_)\btokens\(text"],
    "options --set": [r"\boverride_value\("],
    "tensors of C": [r"\btrireme_run\("],
    "programs that are compiled and run": [r"\bProgram::parse\(", r"\bsession\.run\("],
}
TRUST = ["compiled model is a program", "saved model", "job file", "kernel cache"]


def fuzzing(root):
    folder = root / "tests" / "fuzz"
    sources = [re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
               for path in sorted(folder.glob("*.cc"))]
    for what, calls in READERS.items():
        if not any(all(re.search(call, source) for call in calls) for source in sources):
            yield f"a fuzz target for {what}"
    if not (folder / "make_dictionaries.py").exists():
        yield "dictionaries of the fuzz targets"


def security(root):
    page = root / "SECURITY.md"
    if not page.exists():
        yield "SECURITY.md"
        return
    text = " ".join(page.read_text(encoding="utf-8").split()).lower()
    for words in TRUST:
        if words not in text:
            yield f"\"{words}\" in SECURITY.md"


def hardening(library):
    def readelf(*options):
        return subprocess.run(["readelf", "--wide", *options, library], check=True,
                              capture_output=True, text=True).stdout

    dynamic, symbols = readelf("--dynamic"), readelf("--dyn-syms")
    if "GNU_RELRO" not in readelf("--program-headers"):
        yield "GNU_RELRO: addresses stay writable"
    if not re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b", dynamic):
        yield "BIND_NOW: the table of addresses stays writable"
    if "__stack_chk_fail" not in symbols:
        yield "__stack_chk_fail: the stack is not guarded"
    if not re.search(r"\b__\w+_chk@", symbols):
        yield "functions with _chk: buffers are not checked"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("what", choices=["fuzzing", "security", "hardening"])
    parser.add_argument("library", nargs="?", help="of hardening: a shared library or program")
    arguments = parser.parse_args()
    if arguments.what == "hardening":
        if arguments.library is None:
            parser.error("hardening needs a library")
        found = list(hardening(arguments.library))
    else:
        found = list({"fuzzing": fuzzing, "security": security}[arguments.what](arguments.root))
    for line in found:
        print(f"missing: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
