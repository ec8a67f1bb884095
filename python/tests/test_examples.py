"""The Python examples run."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Examples(unittest.TestCase):
    def run_example(self, name):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", "--quick"], cwd=folder,
                                  env=os.environ, capture_output=True, text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout, sorted(os.listdir(folder))

    def test_gan(self):
        output, files = self.run_example("gan")
        self.assertRegex(output, r"epoch 1: loss of the discriminator [0-9.]+, of the generator")
        self.assertEqual(files, ["gan.npy"])


if __name__ == "__main__":
    unittest.main()
