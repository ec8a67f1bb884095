"""random_calls.py in its short form; acceptance/07-6-calls.sh has the long one."""

import subprocess
import sys
import unittest
from pathlib import Path


class RandomCalls(unittest.TestCase):
    def test_end_in_results_or_errors(self):
        script = Path(__file__).with_name("random_calls.py")
        done = subprocess.run([sys.executable, script, "3000"], capture_output=True, text=True,
                              timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        accepted = int(done.stdout.split()[-2])
        self.assertGreater(accepted, 200)


if __name__ == "__main__":
    unittest.main()
