"""`trireme data download` against a server of this process.

usage: download_test.py TRIREME
"""

import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

TRIREME = ""
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")  # of a Debian package
FILES = sorted(f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k")
               for kind in ("images-idx3", "labels-idx1"))


class Silent(http.server.SimpleHTTPRequestHandler):
    requests: list[str] = []

    def log_message(self, *_):
        self.requests.append(self.path)


class Download(unittest.TestCase):
    def setUp(self):
        if not shutil.which("curl"):
            self.skipTest("curl is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "origin").mkdir()
        handler = functools.partial(Silent, directory=self.root / "origin")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(self.server.server_close)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.shutdown)
        self.mirror = f"http://127.0.0.1:{self.server.server_address[1]}"
        Silent.requests.clear()

    def download(self, name, *options, mirror=None):
        environment = {**os.environ, "TRIREME_DATA": str(self.root / "data"), "no_proxy": "*"}
        return subprocess.run([TRIREME, "data", "download", name, *options, "--mirror",
                               mirror or self.mirror], capture_output=True, text=True,
                              env=environment)

    def left(self):
        return sorted(path.name for path in (self.root / "data").rglob("*") if path.is_file())

    def test_a_data_set(self):
        if not FASHION.is_dir():
            self.skipTest("the package dataset-fashion-mnist is not installed")
        for name in FILES:
            os.symlink(FASHION / name, self.root / "origin" / name)
        run = self.download("fashion_mnist")
        self.assertEqual(run.returncode, 0, run.stderr)
        folder = self.root / "data" / "fashion-mnist"
        self.assertEqual(sorted(run.stdout.split()), [str(folder / name) for name in FILES])
        self.assertIn(f"fashion_mnist: {self.mirror}/t10k-labels-idx1-ubyte.gz", run.stderr)
        self.assertEqual(self.left(), FILES)
        for name in FILES:
            self.assertEqual((folder / name).read_bytes(), (FASHION / name).read_bytes())
        verified = subprocess.run([TRIREME, "data", "path", "fashion_mnist/test"],
                                  capture_output=True, text=True,
                                  env={**os.environ, "TRIREME_DATA": str(self.root / "data")})
        self.assertIn(str(folder), verified.stdout)
        # What is there and correct is not read again; what is damaged is.
        labels = folder / "t10k-labels-idx1-ubyte.gz"
        labels.write_bytes(labels.read_bytes()[:100])
        Silent.requests.clear()
        self.assertEqual(self.download("fashion_mnist", "--quiet").returncode, 0)
        self.assertEqual(Silent.requests, ["/t10k-labels-idx1-ubyte.gz"])
        self.assertEqual(labels.read_bytes(), (FASHION / labels.name).read_bytes())

    def test_other_content(self):
        (self.root / "origin" / "tinyshakespeare.txt").write_text("To be, or not?\n")
        run = self.download("tiny_shakespeare")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("has other content than expected: SHA-256 ", run.stderr)
        self.assertIn("not 86c4e6aa9db7c042", run.stderr)
        self.assertEqual(self.left(), [])

    def test_no_such_file(self):
        run = self.download("banking77")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn(f"cannot get {self.mirror}/banking77.train.csv: ", run.stderr)
        self.assertIn("404", run.stderr)
        self.assertEqual(self.left(), [])

    def test_no_network(self):
        self.server.shutdown()
        self.server.server_close()
        run = self.download("mnist")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("check the network", run.stderr)
        self.assertEqual(self.left(), [])

    def test_names(self):
        self.assertIn('did you mean "mnist"?', self.download("mnits").stderr)
        run = self.download("adult")
        self.assertIn("no public origin of adult is known", run.stderr)
        self.assertIn("put adult-train.csv", run.stderr)

    def test_no_curl(self):
        run = subprocess.run([TRIREME, "data", "download", "mnist", "--directory",
                              str(self.root / "data")], capture_output=True, text=True,
                             env={"PATH": str(self.root)})
        self.assertIn("cannot run curl", run.stderr)
        self.assertIn("apt-get install curl", run.stderr)


if __name__ == "__main__":
    TRIREME = os.path.abspath(sys.argv.pop(1))
    unittest.main()
