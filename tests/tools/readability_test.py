"""Pages of one sentence or two, given to tools/readability.py."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TOOL = os.path.join(ROOT, "tools/readability.py")
sys.path.insert(0, os.path.dirname(TOOL))
import readability  # noqa: E402

EASY = "The dog ran to the door. It was a good dog. It got a bone.\n"
HARD = ("Notwithstanding considerable organizational complications, the administration "
        "deliberately reconsidered international agricultural legislation, whose fundamental "
        "characteristics necessitate extraordinarily sophisticated interpretation.\n")
# Counts the words of a sentence, so that figures of this test do not depend on textstat.
STAND_IN = "def flesch_kincaid_grade(text):\n    return len(text.split()) / text.count('.')\n"


class Sentences(unittest.TestCase):
    def test_what_is_left_out(self):
        page = ("# A heading\n\nSee [the page](a/b_c.md) of `some_long_name` now\n\n"
                "| a | table |\n|---|---|\n| b | c |\n\n```\ncode\n```\n\n"
                "<!-- model: x -->\nmade by a tool\n<!-- model: end -->\n\n- First, an item;\n- *second*.\n")
        self.assertEqual(readability.sentences_of(page),
                         ["See the page of code now.", "First, an item.", "second."])

    def test_empty_page(self):
        self.assertEqual(readability.sentences_of(""), [])


class Tool(unittest.TestCase):
    def run_tool(self, pages, *arguments, stand_in=True):
        with tempfile.TemporaryDirectory() as root:
            environment = dict(os.environ)
            if stand_in:
                with open(os.path.join(root, "textstat.py"), "w", encoding="utf-8") as file:
                    file.write(STAND_IN)
                environment["PYTHONPATH"] = root
            for path, text in pages.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            subprocess.run(["git", "-C", root, "init", "-q"], check=True)
            subprocess.run(["git", "-C", root, "add", "-A"], check=True)
            return subprocess.run([sys.executable, TOOL, "--root", root, *arguments],
                                  capture_output=True, text=True, env=environment)

    def test_table_and_exit_status(self):
        pages = {"docs/a.md": "One two three. Four.\n", "docs/b/c.md": "One two three four.\n",
                 "docs/empty.md": "# Title\n", "other/d.md": "One.\n", "docs/e.txt": "One.\n"}
        run = self.run_tool(pages, "--max", "3")
        self.assertEqual((run.returncode, run.stdout.splitlines()),
                         (1, ["grade  words sentences  page",
                              "  2.0      4         2  docs/a.md",
                              "  4.0      4         1  docs/b/c.md  above 3",
                              "readability: 1 pages above grade 3"]))
        self.assertEqual(self.run_tool(pages, "--max", "4").returncode, 0)
        self.assertEqual(self.run_tool(pages).returncode, 0)

    def test_paths_restrict(self):
        run = self.run_tool({"docs/a.md": "One.\n", "other/d.md": "One.\n"}, "other")
        self.assertEqual(run.stdout.splitlines()[1:], ["  1.0      1         1  other/d.md"])

    def test_grades_of_textstat(self):
        run = self.run_tool({"docs/easy.md": EASY, "docs/hard.md": HARD}, "--max", "10",
                            stand_in=False)
        if run.returncode == 2:
            self.skipTest(run.stderr)
        easy, hard = (float(line.split()[0]) for line in run.stdout.splitlines()[1:3])
        self.assertLess(easy, 3)
        self.assertGreater(hard, 15)
        self.assertEqual(run.returncode, 1)

    def test_missing_package(self):
        environment = {**os.environ, "TRIREME_TEXTSTAT_PYTHON": "/nowhere/python", "PYTHONPATH": ""}
        run = subprocess.run([sys.executable, "-S", TOOL], capture_output=True, text=True,
                             env=environment)
        self.assertEqual(run.returncode, 2)
        self.assertIn("tools/python-env.sh textstat", run.stderr)


if __name__ == "__main__":
    unittest.main()
