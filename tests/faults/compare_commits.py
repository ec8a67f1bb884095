#!/usr/bin/env python3
"""Shows that the tests of the faults fail at commit 802a32a and that the tests of today pass.

    tests/faults/compare_commits.py CHECKOUT [--faults 1,13] [--only old|new] [--no-build]

CHECKOUT is a checkout of commit 802a32a: at_802a32a/ is copied into it, built with AddressSanitizer
and run, one test in a process, because some faults end the process. A test there counts if it fails
and its output matches the expression in at_802a32a/tests.tsv. The tests of today are in tests.tsv.
All that the tests print is in build/acceptance/faults/.

Prints a line for each test, and last "met: N of N faults fail at 802a32a and M tests pass at HEAD",
or what is wrong; then it exits 1.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOGS = ROOT / "build" / "acceptance" / "faults"
COMMIT = "802a32a"
FAULTS = range(1, 22)
OLD_SECONDS = 240  # for a test of the old commit; the longest waits for a minute
NEW_SECONDS = 1800  # for a program of today
LIBRARY = "src/libtrireme_inference.so"  # in the folder of a release build
# The old commit is compiled as the preset asan is today: quickly.
OLD_ASAN = ["-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g1", "-DTRIREME_FUZZ=OFF"]
RELEASE = ["-DTRIREME_UNITY=ON", "-DTRIREME_BUILD_TESTS=OFF", "-DTRIREME_BUILD_EXAMPLES=OFF"]

Old = collections.namedtuple("Old", "fault test seen")
New = collections.namedtuple("New", "fault preset program test")


def read_table(path, row):
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            fields = line.split("\t")
            rows.append(row(int(fields[0]), *fields[1:]))
    return rows


def environment(checkout, **more):
    return {**os.environ, "CCACHE_BASEDIR": str(checkout), "CCACHE_NOHASHDIR": "1",
            "TRIREME_SOURCE_DIR": str(checkout), **more}


def build(checkout, preset, options, targets):
    """Configures and builds; the output is shown only if that fails."""
    folder = checkout / "build" / preset
    jobs = os.environ.get("JOBS", str(os.cpu_count()))
    for command in (["cmake", "--preset", preset, *options],
                    ["cmake", "--build", str(folder), "-j", jobs, "--target", *targets]):
        print("build:", " ".join(command), f"in {checkout}", flush=True)
        done = subprocess.run(command, cwd=checkout, env=environment(checkout), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            print(done.stdout[-8000:])
            raise SystemExit(f"MISSED: {' '.join(command)} failed in {checkout}")
    return folder


def run(command, log, cwd, env, seconds):
    """Its exit code, or "timeout", and all that it printed, which also goes to the file `log`."""
    try:
        done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, timeout=seconds,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        code, output = "timeout", error.stdout or b""
    text = output.decode(errors="replace")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(text, encoding="utf-8")
    return code, text


# --- The old commit


def build_old(checkout):
    folder = checkout / "tests" / "faults"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "at_802a32a", folder)
    lists = checkout / "tests" / "CMakeLists.txt"
    text = lists.read_text(encoding="utf-8")
    if "add_subdirectory(faults)" not in text:
        lists.write_text(text + "add_subdirectory(faults)\n", encoding="utf-8")
    build(checkout, "asan", OLD_ASAN, ["old_faults", "trireme_cli"])
    build(checkout, "release", RELEASE, ["trireme_inference_shared"])


def command_of(test, checkout, program):
    if not test.startswith("check_tree.py"):
        return [str(program), f"--gtest_filter={test}"]
    command = [sys.executable, str(HERE / "check_tree.py"), "--root", str(checkout),
               *test.split()[1:]]
    if test.endswith("hardening"):
        command.append(str(checkout / "build" / "release" / LIBRARY))
    return command


def verdict_of(code, text, seen):
    if re.search(seen, text) and code != 0:
        return "fails"
    if "[  SKIPPED ]" in text:
        return "was skipped"
    if code == 0:
        return "passes"
    return f"fails for another reason (exit code {code})"


def run_old(rows, checkout):
    """Runs each test; the faults for which all tests fail as they should."""
    program = checkout / "build" / "asan" / "bin" / "old_faults"
    # Leaks are no matter here. A test that hangs is ended by us.
    env = environment(checkout, ASAN_OPTIONS="detect_leaks=0", UBSAN_OPTIONS="print_stacktrace=1",
                      TRIREME_CACHE_DIR=str(checkout / "build" / "asan" / "cache"))
    failing = collections.defaultdict(list)
    for row in rows:
        log = LOGS / "old" / (re.sub(r"\W+", "_", row.test) + ".log")
        code, text = run(command_of(row.test, checkout, program), log, checkout, env, OLD_SECONDS)
        verdict = verdict_of(code, text, row.seen)
        found = re.search(rf"[^\n]*(?:{row.seen})[^\n]*", text)
        what = found[0].strip()[:100] if found else f"see {log}"
        print(f"fault {row.fault:2} at {COMMIT}: {row.test} {verdict}: {what}", flush=True)
        failing[row.fault].append(verdict == "fails")
    return {fault for fault, all_fail in failing.items() if all(all_fail)}


# --- The tests of today


def build_new(rows):
    targets = collections.defaultdict(set)
    for row in rows:
        if row.preset == "tree":
            targets["release"].add("trireme_inference_shared")
        else:
            targets[row.preset].add(row.program)
    for preset, names in sorted(targets.items()):
        build(ROOT, preset, RELEASE if preset == "release" else [], sorted(names))


def passed_tests(preset, program, rows):
    """Which of the tests of a program pass."""
    folder = ROOT / "build" / preset
    options = {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1 strict_string_checks=1",
        "LSAN_OPTIONS": f"suppressions={ROOT}/tests/lsan.supp",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": f"suppressions={ROOT}/tests/tsan.supp halt_on_error=1 history_size=7",
        "TRIREME_CACHE_DIR": str(folder / "cache"),
    }
    env = environment(ROOT, **options)
    log = LOGS / "new" / f"{preset}_{program}.log"
    binary = folder / "bin" / program
    tests = [row.test for row in rows]
    if program == "check_tree.py":
        return [test for test in tests
                if run(command_of(f"{program} {test}", ROOT, None), log, ROOT, env, 60)[0] == 0]
    if program.startswith("fuzz_"):
        corpus = ROOT / "tests" / "fuzz" / "corpus" / program[len("fuzz_"):]
        code, _ = run([str(binary), str(corpus)], log, ROOT, env, NEW_SECONDS)
        return tests if code == 0 else []
    _, text = run([str(binary), f"--gtest_filter={':'.join(tests)}"], log, ROOT, env, NEW_SECONDS)
    return re.findall(r"^\[       OK \] (\S+)", text, re.M)


def run_new(rows):
    """How many tests pass, and the others."""
    programs = collections.defaultdict(list)
    for row in rows:
        programs[row.preset, row.program].append(row)
    passed, others = set(), []
    for (preset, program), its_rows in sorted(programs.items()):
        names = passed_tests(preset, program, its_rows)
        for row in its_rows:
            if row.test in names:
                passed.add((preset, program, row.test))
            else:
                others.append(f"fault {row.fault}: {row.test} ({preset}) did not pass")
    for fault in sorted({row.fault for row in rows}):
        its_rows = [row for row in rows if row.fault == fault]
        count = sum((row.preset, row.program, row.test) in passed for row in its_rows)
        print(f"fault {fault:2} today: {count} of {len(its_rows)} tests pass", flush=True)
    return len(passed), others


def undocumented(rows):
    """Tests of today that tests/faults.md does not name."""
    page = (ROOT / "tests" / "faults.md").read_text(encoding="utf-8")
    for row in rows:
        name = row.test if row.preset != "tree" else f"check_tree.py {row.test}"
        if name not in page and name.split(".")[-1] not in page:
            yield f"fault {row.fault}: tests/faults.md does not name {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--faults", help="numbers, separated by commas (default: all)")
    parser.add_argument("--only", choices=["old", "new"])
    parser.add_argument("--no-build", action="store_true", help="run the present programs")
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    faults = {int(n) for n in arguments.faults.split(",")} if arguments.faults else set(FAULTS)
    old = [row for row in read_table(HERE / "at_802a32a" / "tests.tsv", Old) if row.fault in faults]
    new = [row for row in read_table(HERE / "tests.tsv", New) if row.fault in faults]
    wrong = list(undocumented(new))
    results = []
    if arguments.only != "new":
        if not arguments.no_build:
            build_old(checkout)
        failing = run_old(old, checkout)
        wrong += [f"fault {fault} is not shown at {COMMIT}" for fault in sorted(faults - failing)]
        results.append(f"{len(failing)} of {len(faults)} faults fail at {COMMIT}")
    if arguments.only != "old":
        if not arguments.no_build:
            build_new(new)
        passed, others = run_new(new)
        wrong += others
        tested = {row.fault for row in new}
        wrong += [f"fault {fault} has no test of today" for fault in sorted(faults - tested)]
        results.append(f"{passed} tests pass at HEAD")
    for line in wrong:
        print(line)
    print(f"{'MISSED' if wrong else 'met'}: {' and '.join(results)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
