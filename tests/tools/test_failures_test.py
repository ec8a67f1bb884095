"""Logs of ctest, of real runs of it, given to tools/test_failures.py."""

import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/test_failures.py")

# What a test of a project of a moment prints; ctest runs each.
GOOGLE = """
[ RUN      ] Sums.AreRight
[       OK ] Sums.AreRight (0 ms)
[ RUN      ] Sums.AreWrong
sums_test.cc:12: Failure
one is not two
[  FAILED  ] Sums.AreWrong (3 ms)
[ RUN      ] Sums.AreRightAgain
[       OK ] Sums.AreRightAgain (0 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Sums.AreWrong
"""
ENDS_WITHIN = """
[ RUN      ] Sums.AreRight
[       OK ] Sums.AreRight (0 ms)
[ RUN      ] Sums.NeverEnd
the last that was heard
"""


class TestFailures(unittest.TestCase):
    def told(self, **printed):
        """The output of the tool for tests of ctest NAME=(output, exit status)."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "CTestTestfile.cmake"), "w") as tests:
                for name, (said, status) in printed.items():
                    with open(os.path.join(folder, name), "w") as file:
                        file.write(said)
                    tests.write('add_test(%s sh -c "cat %s/%s; exit %d")\n' % (name, folder, name, status))
                    tests.write("set_tests_properties(%s PROPERTIES SKIP_RETURN_CODE 77)\n" % name)
            log = subprocess.run(["ctest", "--test-dir", folder, "--output-on-failure"], capture_output=True, text=True)
            path = os.path.join(folder, "log")
            with open(path, "w") as file:
                file.write(log.stdout)
            return subprocess.run([sys.executable, TOOL, path], capture_output=True, text=True, check=True).stdout

    def test_the_last_lines_where_no_test_failed(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("sums.cc:1: error: no such file\nninja: build stopped\n")
            log.flush()
            told = subprocess.run([sys.executable, TOOL, log.name], capture_output=True, text=True, check=True).stdout
        self.assertEqual(told, "-- %s\n   sums.cc:1: error: no such file\n   ninja: build stopped\n" % log.name)

    def test_nothing_of_the_skipped_nor_of_the_summary(self):
        told = self.told(good=("fine", 0), skipped=("no network here", 77), script=("it broke", 1))
        self.assertEqual(told.rstrip(), "-- script: Failed\n   it broke")

    def test_the_failing_ones_of_a_binary(self):
        self.assertEqual(
            self.told(good=("fine", 0), sums=(GOOGLE, 1), more=("fine", 0)),
            "-- sums: Failed\n"
            "   [ RUN      ] Sums.AreWrong\n"
            "   sums_test.cc:12: Failure\n"
            "   one is not two\n"
            "   [  FAILED  ] Sums.AreWrong (3 ms)\n",
        )

    def test_the_one_that_a_binary_ended_in(self):
        told = self.told(sums=(ENDS_WITHIN, 134))
        self.assertIn("   [ RUN      ] Sums.NeverEnd\n   the last that was heard", told)
        self.assertNotIn("AreRight", told)

    def test_the_last_lines_of_others(self):
        told = self.told(script=("".join("line %d\n" % line for line in range(100)), 1), sums=(GOOGLE, 1))
        self.assertIn("-- script: Failed\n", told)
        self.assertIn("lines are left out", told)
        self.assertNotIn("line 10\n", told)
        self.assertIn("line 99\n", told)
        self.assertIn("-- sums: Failed\n", told)


if __name__ == "__main__":
    unittest.main()
