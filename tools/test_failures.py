#!/usr/bin/env python3
"""Says again which tests failed in what ctest printed, and what they said: a log of ninety tests
ends with a number only.

    ctest --preset dev --output-on-failure | tee log; tools/test_failures.py log

Of a binary of GoogleTest it tells the tests in it that failed, or that it was in when it ended; of
another its last lines; of a log without failing tests, such as one of a build, its last lines as
well. """

import re
import sys

LINES = 40  # of what each test said: the last ones
STARTED = re.compile(r"\s*Start\s+\d+: ")
ENDED = re.compile(r"\s*\d+/\d+ Test\s+#\d+: (\S+) .*?(\*\*\*\S+|Passed)")
SUMMARY = re.compile(r"\d+% tests passed, ")
NOT_FAILED = ("Passed", "***Skipped")
GTEST_RUN = "[ RUN      ]"
GTEST_ENDS = ("[       OK ]", "[  SKIPPED ]")
GTEST_FAILED = "[  FAILED  ]"


def failing_tests(log):
    """Yields (name, verdict, what it printed) of each test of ctest that failed."""
    name = verdict = None
    said = []
    for line in log:
        ended = ENDED.match(line)
        if ended or STARTED.match(line) or SUMMARY.match(line):
            if name:
                yield name, verdict, said
            name, said = None, []
            if ended and ended[2] not in NOT_FAILED:
                name, verdict = ended[1], ended[2].strip("*")
        elif name:
            said.append(line)
    if name:
        yield name, verdict, said


def parts_that_failed(said):
    """What the failing tests of a GoogleTest binary said, each from its beginning; all of it where
    there are none."""
    parts = []
    part = None
    for line in said:
        if line.startswith(GTEST_RUN):
            part = [line]
        elif part is None:
            continue
        elif line.startswith(GTEST_ENDS):
            part = None
        else:
            part.append(line)
            if line.startswith(GTEST_FAILED):
                parts.append(part)
                part = None
    if part:
        parts.append(part)
    return parts or [said]


def tell(title, said):
    print(f"-- {title}")
    if len(said) > LINES:
        said = said[:1] + [f"({len(said) - LINES} lines are left out)"] + said[1 - LINES:]
    print("\n".join("   " + line for line in said))


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", errors="replace") as file:
            log = file.read().splitlines()
        failing = list(failing_tests(log))
        for name, verdict, said in failing:
            for part in parts_that_failed(said):
                tell(f"{name}: {verdict}", part)
        if not failing:
            tell(path, log[-LINES:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
