"""Small trees that keep or break one rule each, given to tools/check_prose.py."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
TOOL = os.path.join(ROOT, "tools/check_prose.py")
sys.path.insert(0, os.path.dirname(TOOL))
import check_prose  # noqa: E402
import markdown_text  # noqa: E402
import source_text  # noqa: E402

PHRASES = "odd (one|two)\t\"plain\"\n# a comment\n\nquoted phrase\t\"other\"\tsrc/allowed/*\n"
LONG = "word " * 19 + "last!"  # 100 characters
MISSPELT = "rec" "ieve"


class Tree:
    """A repository {path: text} with lists of its own."""

    def __init__(self, files, phrases=PHRASES, retired="", ignored=""):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        files = {"tools/prose/phrases.txt": phrases, "tools/prose/retired_names.txt": retired,
                 "tools/prose/codespell_ignore.txt": ignored, **files}
        for path, text in files.items():
            full = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
        git = ["git", "-C", self.root]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "-A"], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()


def found(files, spelling=False, paths=(), **lists):
    """Findings as "path:line rule"."""
    with Tree(files, **lists) as tree:
        paths = [os.path.join(tree.root, path) for path in paths]
        return [f"{path}:{line} {rule.split(':')[0]}"
                for path, line, _, rule in check_prose.check(tree.root, paths, spelling)[1]]


class Lines(unittest.TestCase):
    def test_comment_of_each_language(self):
        self.assertEqual(len(LONG), 100)
        for path, start in [("a.cc", "// "), ("a.h", "  /* "), ("a.c", "i;  // "),
                            ("a.py", "# "), ("a.sh", "# "), ("a.cmake", "# "), ("a.toml", "# "),
                            ("CMakeLists.txt", "# "), ("Makefile", "# ")]:
            with self.subTest(path):
                end = " */" if "/*" in start else ""
                self.assertEqual(found({path: f"{start}{LONG}{end}\n"}), [f"{path}:1 line"])
                self.assertEqual(found({path: f"{start}{LONG[-90:]}{end}\n"}), [])

    def test_exactly_100_columns_are_fine(self):
        self.assertEqual(found({"a.cc": f"// {LONG[3:]}\n", "a.md": LONG + "\n"}), [])

    def test_code_may_be_long(self):
        self.assertEqual(found({"a.cc": f'auto a = "{LONG}";\n', "a.py": f'a = "{LONG}"\n'}), [])

    def test_url_in_a_comment_may_be_long(self):
        self.assertEqual(found({"a.cc": f"// See https://example.org/{'x' * 100}\n"}), [])

    def test_docstring_is_a_comment(self):
        text = f'"""{LONG}\n\n{LONG}"""\n\ndef f(\n        a="{LONG}"):\n    """{LONG}"""\n'
        self.assertEqual(found({"a.py": text}), ["a.py:1 line", "a.py:3 line", "a.py:7 line"])

    def test_inner_line_of_a_block_comment(self):
        self.assertEqual(found({"a.h": f"/* one\n * {LONG}\n */\n"}), ["a.h:2 line"])

    def test_markdown(self):
        self.assertEqual(found({"a.md": f"# Title\n\nMore {LONG}\n\n- {LONG}\n"}),
                         ["a.md:3 line", "a.md:5 line"])

    def test_tables_code_and_links_may_be_long(self):
        url = "https://example.org/" + "x" * 100
        self.assertEqual(found({"a.md": f"| {LONG} | b |\n|---|---|\n\n```\n{LONG} {LONG}\n```\n\n"
                                        f"- [one](a/{'b' * 100}.md).\n- {url}\n[1]: {url}\n\n"
                                        f"Text.\n\n    {LONG} {LONG}\n"}), [])

    def test_link_and_text_may_not(self):
        self.assertEqual(found({"a.md": f"See [one](a/{'b' * 100}.md).\n"}), ["a.md:1 line"])

    def test_generated_block_may_be_long(self):
        block = f"<!-- model: sizes -->\n{LONG} {LONG}\n<!-- model: end -->\n"
        self.assertEqual(found({"a.md": block}), [])
        self.assertEqual(found({"a.md": block + f"Outside {LONG}\n"}), ["a.md:4 line"])
        self.assertEqual(found({"a.md": f"<!-- model: sizes -->\n\nNo end {LONG}\n"}),
                         ["a.md:3 line"])

    def test_list_item_with_code(self):
        self.assertEqual(found({"a.md": f"- Item:\n\n  ```\n  {LONG} {LONG}\n  ```\n"}), [])


class Sentences(unittest.TestCase):
    def words(self, count, line_words=10):
        lines = ["w " * line_words] * (count // line_words) + ["w " * (count % line_words)]
        return "\n".join(line.strip() for line in lines if line.strip())

    def test_35_words_are_fine(self):
        self.assertEqual(found({"a.md": self.words(35) + ".\n"}), [])
        self.assertEqual(found({"a.md": self.words(36) + ".\n"}), ["a.md:1 sentence"])

    def test_line_where_the_sentence_starts(self):
        text = "# Title\n\nShort.\n" + "It is " + self.words(40) + ".\n"
        self.assertEqual(found({"a.md": text}), ["a.md:4 sentence"])

    def test_what_ends_a_sentence(self):
        half = self.words(20)
        for between in [". W ", "! W ", "? `w` ", ".\n\n", "\n- ", "\n1. ", " | ", ".* W "]:
            with self.subTest(between):
                start = "| " if "|" in between else ""
                self.assertEqual(found({"a.md": f"{start}{half}{between}{half}\n"}), [])
        for between in [", ", "; ", ": ", " e.g. `w` ", " 1.5 ", " a.b ", "\n"]:
            with self.subTest(between):
                self.assertEqual(found({"a.md": f"{half}{between}{half}\n"}), ["a.md:1 sentence"])

    def test_code_and_link_target_are_no_words(self):
        self.assertEqual(found({"a.md": self.words(33) + " `" + self.words(30) + "`\n[w](a%20b) -- !\n"}),
                         [])

    def test_only_in_markdown(self):
        comment = "".join(f"// {line}\n" for line in self.words(50).split("\n"))
        self.assertEqual(found({"a.cc": comment}), [])

    def test_words_without_markup(self):
        passage = markdown_text.parse("The *big* [page](x.md) says `a b`, twice.\n").prose[0]
        self.assertEqual(list(markdown_text.sentences(passage, code="code")),
                         [(1, ["The", "big", "page", "says", "code,", "twice."])])


class Phrases(unittest.TestCase):
    def test_comments_strings_and_markdown(self):
        files = {"a.cc": "int a;  // odd one\n", "b.cc": 'f("an Odd two");\n', "c.md": "odd one\n",
                 "d.py": 'a = f"odd one"\n', "e.py": '"""Odd one."""\n', "f.sh": "echo 'odd one'\n",
                 "g.sh": "cat <<END\nodd one\nEND\n", "h.cmake": 'message("odd one")\n',
                 "i.toml": 'a = "odd one"\n', "j.cc": 'f(R"(one\nodd one)");\n',
                 "k.md": "```\nodd one\n```\n", "l.md": "| a | odd one |\n",
                 "m": "#!/bin/sh\n# odd one\n", "n.md": "a\n<!-- m: x -->\nodd one\n<!-- m: end -->\n"}
        self.assertEqual(found(files),
                         ["a.cc:1 phrase", "b.cc:1 phrase", "c.md:1 phrase", "d.py:1 phrase",
                          "e.py:1 phrase", "f.sh:1 phrase", "g.sh:2 phrase", "h.cmake:1 phrase",
                          "i.toml:1 phrase", "j.cc:2 phrase", "k.md:2 phrase", "l.md:1 phrase",
                          "m:2 phrase", "n.md:3 phrase"])

    def test_across_lines(self):
        files = {"a.cc": "// it is odd\n// one\n", "b.cc": 'f("odd "\n  "one");\n',
                 "c.md": "it is odd\none\n", "d.py": 'f("odd "\n  "one")\n', "e.cc": "/* odd\n * one */\n",
                 "f.py": '"""\nIt is odd\none.\n"""\n'}
        self.assertEqual(found(files), ["a.cc:1 phrase", "b.cc:1 phrase", "c.md:1 phrase",
                                        "d.py:1 phrase", "e.cc:1 phrase", "f.py:2 phrase"])

    def test_not_across_paragraphs_and_expressions(self):
        self.assertEqual(found({"a.cc": "// odd\n//\n// one\n", "b.cc": 'f("odd ", "one");\n',
                                "c.cc": "a;  // odd\nb;  // one\n", "d.md": "odd\n\none\n",
                                "e.py": 'f("odd ", "one")\n', "f.md": "| odd | one |\n"}), [])

    def test_not_in_code(self):
        self.assertEqual(found({"a.cc": "odd one;\n", "b.sh": "echo ${#odd} one\n",
                                "c.cc": "int a = 1'000; char c = '\"'; odd one; char d = '\"';\n"}), [])

    def test_whole_words(self):
        self.assertEqual(found({"a.md": "oddone, odd oneself, an odd onetime\n"}), [])

    def test_allowed_files(self):
        self.assertEqual(found({"src/allowed/a.cc": "// quoted phrase\n",
                                "src/b.cc": "// quoted phrase\n"}), ["src/b.cc:1 phrase"])

    def test_broken_list(self):
        with self.assertRaises(SystemExit):
            found({}, phrases="no second column\n")

    def test_list_of_the_project(self):
        phrases = check_prose.Phrases(check_prose.read_list(ROOT, "phrases.txt", 2))
        with open(os.path.join(HERE, "prose_examples.txt"), encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
        for expected, sentence in rows:
            passage = source_text.Passage()
            passage.add(1, sentence)
            refused = [what for _, _, what, _ in phrases.check("a.md", [passage])]
            with self.subTest(sentence, refused=refused):
                self.assertEqual(bool(refused), expected == "refused")


class RetiredNames(unittest.TestCase):
    RETIRED = "OldName\tNewName\nnn::old\tnn::current\tdocs/*\t*/a.cc\n--old\t--new\nir/old.h\tir/new.h\n"

    def test_whole_words_of_every_text_file(self):
        files = {"a.cc": "OldName a;\nint OldNames, MyOldName;\n", "b.txt": "say OldName.\n",
                 "c.cc": "nn::old(1); nn::older(1); old(1);\n", "d.sh": "run --old --older x--old\n",
                 "e.cc": '#include "ir/old.h"\n#include "ir/old_h"\n'}
        self.assertEqual(found(files, retired=self.RETIRED),
                         ["a.cc:1 retired", "b.txt:1 retired", "c.cc:1 retired", "d.sh:1 retired",
                          "e.cc:1 retired"])

    def test_allowed_files_and_the_changelog(self):
        files = {"docs/a/b.md": "nn::old\n", "tests/a.cc": "nn::old\n", "tests/b.cc": "nn::old\n",
                 "CHANGELOG.md": "OldName is NewName\n"}
        self.assertEqual(found(files, retired=self.RETIRED), ["tests/b.cc:1 retired"])

    def test_list_of_the_project_can_be_read(self):
        check_prose.RetiredNames(check_prose.read_list(ROOT, "retired_names.txt", 2))


class Spelling(unittest.TestCase):
    def test_misspelling(self):
        if not check_prose.shutil.which("codespell"):
            self.skipTest("no codespell")
        self.assertEqual(found({"a.cc": f"// {MISSPELT}\n"}, spelling=True), ["a.cc:1 spelling"])
        self.assertEqual(found({"a.cc": f"// {MISSPELT}\n"}, spelling=True, ignored=MISSPELT + "\n"), [])
        files = {"a.cc": f"// {MISSPELT}\n", "tests/a.cc": f"// {MISSPELT}\n"}
        self.assertEqual(found(files, spelling=True, ignored=MISSPELT + " tests/*\n"),
                         ["a.cc:1 spelling"])

    def test_no_codespell_is_a_finding(self):
        which = check_prose.shutil.which
        check_prose.shutil.which = lambda name: None
        try:
            self.assertEqual(found({"a.cc": "int a;\n"}, spelling=True), ["codespell:0 spelling"])
        finally:
            check_prose.shutil.which = which


class Tool(unittest.TestCase):
    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)

    def test_exit_status_and_format(self):
        with Tree({"a/a.md": LONG + LONG + "\n", "b/b.md": "Fine.\n"}) as tree:
            run = self.run_tool("--root", tree.root, os.path.join(tree.root, "a"))
            self.assertEqual((run.returncode, run.stdout.splitlines()[0]),
                             (1, "a/a.md:1: 200 characters (line: at most 100)"))
            if check_prose.shutil.which("codespell"):
                run = self.run_tool("--root", tree.root, os.path.join(tree.root, "b"))
                self.assertEqual((run.returncode, run.stdout), (0, "prose: 1 files ok\n"))

    def test_paths_restrict(self):
        files = {"a/a.md": "odd one\n", "b.md": "odd one\n", "c.md": "odd one\n"}
        self.assertEqual(found(files, paths=["a", "b.md"]), ["a/a.md:1 phrase", "b.md:1 phrase"])

    def test_files_of_others_are_left_alone(self):
        self.assertEqual(found({"tests/golden/a.md": "odd one\n", "LICENSE": "odd one\n",
                                "a.cc": b"\xff\x00 // odd one", "empty.md": "", "empty.py": "",
                                "tests/golden/README.md": "odd one\n"}),
                         ["tests/golden/README.md:1 phrase"])

    def test_python_that_cannot_be_read(self):
        self.assertEqual(found({"a.py": "a = (\n"}), ["a.py:1 phrase"])


if __name__ == "__main__":
    unittest.main()
