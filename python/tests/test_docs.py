"""Python blocks of documentation run as they are printed, page by page."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"(<!-- not run:[^>]*-->\n)?```python\n(.*?)```", re.DOTALL)


class Docs(unittest.TestCase):
    def run_page(self, name):
        text = (PAGES / name).read_text(encoding="utf-8")
        blocks = [code for not_run, code in BLOCK.findall(text) if not not_run]
        self.assertTrue(blocks, name)
        names = {}
        for code in blocks:
            exec(compile(code, os.fspath(PAGES / name), "exec"), names)
        return names

    def test_arrays(self):
        names = self.run_page("how-to/arrays.md")
        self.assertAlmostEqual(names["w"].tolist()[0], 1, 4)
        self.assertAlmostEqual(names["w"].tolist()[1], 2, 4)
        value, w = names["step"](names["w"])
        self.assertLess(value.item(), 1e-8)

    def test_jobs(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            with contextlib.redirect_stdout(io.StringIO()):
                names = self.run_page("how-to/python-jobs.md")
            self.assertLess(names["result"].history["val_loss"][-1], 0.1)


if __name__ == "__main__":
    unittest.main()
