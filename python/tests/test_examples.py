"""The Python examples run."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import trireme as tr

CHECKOUT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {"TRIREME_DATA": str(CHECKOUT.parent / "shared" / "data"), **os.environ}


class Examples(unittest.TestCase):
    def run_example(self, name):
        os.environ.update(ENVIRONMENT)
        try:
            tr.datasets.mnist("test")
        except tr.errors.NotFoundError as error:
            self.skipTest(str(error))
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, CHECKOUT / "examples" / f"{name}.py", "--quick"],
                                  cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout, sorted(os.listdir(folder))

    def test_gan(self):
        output, files = self.run_example("gan")
        self.assertRegex(output, r"epoch 1: loss of the discriminator [0-9.]+, of the generator")
        self.assertEqual(files, ["gan.npy"])

    def test_vae(self):
        output, files = self.run_example("vae")
        loss = float(re.search(r"epoch 1: loss ([0-9.]+)", output)[1])
        self.assertLess(loss, 300)  # 550 at the start
        self.assertEqual(files, ["vae.npy"])

    def test_siamese(self):
        output, _ = self.run_example("siamese")
        right = float(re.search(r"right about new pairs ([0-9.]+)", output)[1])
        self.assertGreater(right, 0.6)


if __name__ == "__main__":
    unittest.main()
