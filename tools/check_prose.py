#!/usr/bin/env python3
"""Checks the words of the project: short lines and sentences, plain phrases, current names.

    tools/check_prose.py                    the whole repository (git ls-files)
    tools/check_prose.py docs src/ir/op.h   these folders and files
    tools/check_prose.py --root DIR         another checkout

Prints one line per finding, `file:line: what (rule)`, and exits 1 if there is any.

line       Markdown prose and lines with a comment: at most 100 characters.
sentence   Markdown: at most 35 words; a list item or a table cell ends a sentence.
phrase     comments, Markdown and string literals: no phrase of tools/prose/phrases.txt.
retired    every text file: no name of tools/prose/retired_names.txt.
spelling   codespell, except the words of tools/prose/codespell_ignore.txt.
"""

import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "prose"))
import markdown_text  # noqa: E402
import source_text  # noqa: E402

LONGEST_LINE = 100
LONGEST_SENTENCE = 35
LISTS = "tools/prose"
HISTORY = "CHANGELOG.md"  # may name what is gone
# Data of tests and texts by other authors.
NOT_OURS = ["tests/golden/*", "tests/fuzz/corpus/*", "LICENSE"]


def tracked_files(root, paths):
    """The text files that git tracks, as {path: text}; `paths` restricts them."""
    command = ["git", "-C", root, "ls-files", "-z", "--"]
    listed = subprocess.run(command + [os.path.relpath(p, root) for p in paths], check=True,
                            capture_output=True).stdout
    files = {}
    for path in sorted(set(listed.decode().split("\0"))):
        full = os.path.join(root, path)
        if not path or matches(path, NOT_OURS) and not path.endswith("README.md") or (
                os.path.islink(full) or not os.path.isfile(full)):
            continue
        with open(full, "rb") as file:
            content = file.read()
        if b"\0" in content:
            continue
        try:
            files[path] = content.decode()
        except UnicodeDecodeError:
            continue
    return files


def matches(path, globs):
    return any(fnmatch.fnmatchcase(path, glob) for glob in globs)


def read_list(root, name, columns):
    """Rows of a list: columns separated by tabs, lines that start with # left out."""
    path = os.path.join(root, LISTS, name)
    if not os.path.exists(path):
        return []
    rows = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            row = line.rstrip("\n").split("\t")
            if not line.strip() or line.startswith("#"):
                continue
            if len(row) < columns or not all(row[:columns]):
                raise SystemExit(f"{LISTS}/{name}:{number}: needs {columns} columns, separated by "
                                 "a tab")
            rows.append(row)
    return rows


def shorten(text, length=60):
    text = " ".join(text.split())
    return text if len(text) <= length else text[:length - 3] + "..."


# --- line -------------------------------------------------------------------


def is_only_a_link(line):
    """Whether a line holds nothing that could stand on a line of its own but one URL or link."""
    line = re.sub(r"^\s*(?:[-*+]|\d+[.)])?\s*", "", line)
    return re.fullmatch(r"!?\[[^\]]*\]\(\S+( \"[^\"]*\")?\)[.,;:)]*|\[[^\]]*\]:\s*\S+|"
                        r"[(<]?https?://\S+", line) is not None


def check_lines(path, text, numbers, may_be_long):
    lines = text.split("\n")
    for number in sorted(numbers):
        line = lines[number - 1]
        if len(line) > LONGEST_LINE and not may_be_long(line):
            yield (path, number, f"{len(line)} characters", f"line: at most {LONGEST_LINE}")


def comment_may_be_long(line):
    return re.search(r"https?://|NOLINT|clang-format off|^#!", line) is not None


# --- sentence ---------------------------------------------------------------


def check_sentences(path, passages):
    for passage in passages:
        for line, words in markdown_text.sentences(passage):
            if len(words) > LONGEST_SENTENCE:
                yield (path, line, f"a sentence of {len(words)} words, \"{' '.join(words[:6])} ...\"",
                       f"sentence: at most {LONGEST_SENTENCE}")


# --- phrase -----------------------------------------------------------------


class Phrases:
    """Regular expressions that no text may match; each begins and ends at the edge of a word."""

    def __init__(self, rows):
        self.rows = [(re.compile(rf"(?<!\w)(?:{row[0]})(?!\w)", re.I), row[1], row[2:])
                     for row in rows]
        every = "|".join(f"(?:{row[0]})" for row in rows)
        self.any = re.compile(rf"(?<!\w)(?:{every})(?!\w)", re.I) if rows else None

    def check(self, path, passages):
        for passage in passages:
            if self.any is None or not self.any.search(passage.text):
                continue
            for pattern, instead, allowed in self.rows:
                if matches(path, allowed):
                    continue
                for match in pattern.finditer(passage.text):
                    yield (path, passage.line_at(match.start()),
                           f"\"{shorten(match[0])}\": write {instead}", "phrase")


def passages_of(code):
    for number, line in code:
        passage = source_text.Passage()
        passage.add(number, line)
        yield passage


# --- retired ----------------------------------------------------------------


class RetiredNames:
    """Names that were replaced: old, new, and where the old one may still stand."""

    def __init__(self, rows):
        self.rows = []
        for old, new, *allowed in rows:
            left = r"(?<![\w-])" if old.startswith("-") else r"(?<!\w)"
            self.rows.append((set(re.findall(r"\w+", old)),
                              re.compile(left + re.escape(old) + r"(?!\w)"), old, new, allowed))

    def check(self, path, text):
        if not self.rows or path == HISTORY or path == f"{LISTS}/retired_names.txt":
            return
        words = set(re.findall(r"\w+", text))
        for parts, pattern, old, new, allowed in self.rows:
            if not parts <= words or matches(path, allowed):
                continue
            for match in pattern.finditer(text):
                yield (path, text.count("\n", 0, match.start()) + 1,
                       f"{old} is now {new}", "retired")


# --- spelling ---------------------------------------------------------------


def check_spelling(root, files):
    command = shutil.which("codespell")
    if command is None:
        yield ("codespell", 0, "is not installed (apt-get install codespell)", "spelling")
        return
    ignored = [line[0].split() for line in read_list(root, "codespell_ignore.txt", 1)]
    names = [path for path in files if not path.startswith(f"{LISTS}/codespell_ignore")]
    for start in range(0, len(names), 500):
        run = subprocess.run([command, "--disable-colors", *names[start:start + 500]], cwd=root,
                             capture_output=True, text=True)
        if run.returncode not in (0, 64, 65) and run.stderr:
            yield ("codespell", 0, shorten(run.stderr.strip()), "spelling")
        for line in run.stdout.splitlines():
            found = re.match(r"(?:\./)?(.+?):(\d+): ((\S+) ==> .+)$", line)
            if not found:
                continue
            path, number, what, word = found.groups()
            if not any(word == entry[0] and (len(entry) == 1 or matches(path, entry[1:]))
                       for entry in ignored):
                yield (path, int(number), what, "spelling")


# --- everything -------------------------------------------------------------


def check_file(path, text, phrases, retired):
    yield from retired.check(path, text)
    kind = source_text.language(path, text)
    if kind is None:
        return
    if kind == "markdown":
        parts = markdown_text.parse(text)
        yield from check_lines(path, text, parts.prose_lines, is_only_a_link)
        yield from check_sentences(path, parts.prose)
        yield from phrases.check(path, [*parts.prose, *parts.generated, *passages_of(parts.code)])
        return
    try:
        source = source_text.read(kind, text)
    except SyntaxError as error:
        yield (path, 1, f"cannot be read: {error}", "phrase")
        return
    yield from check_lines(path, text, source.comment_lines, comment_may_be_long)
    yield from phrases.check(path, source.passages)


def check(root, paths=(), spelling=True):
    """The number of files, and the findings as (path, line, what, rule)."""
    files = tracked_files(root, paths)
    phrases = Phrases(read_list(root, "phrases.txt", 2))
    retired = RetiredNames(read_list(root, "retired_names.txt", 2))
    found = []
    for path, text in files.items():
        found += check_file(path, text, phrases, retired)
    if spelling:
        found += check_spelling(root, files)
    return len(files), sorted(set(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.dirname(HERE), help="the checkout to look at")
    parser.add_argument("paths", nargs="*", help="files and folders (default: everything)")
    arguments = parser.parse_args()
    count, found = check(arguments.root, arguments.paths)
    for path, line, what, rule in found:
        print(f"{path}:{line}: {what} ({rule})")
    print(f"prose: {len(found)} findings" if found else f"prose: {count} files ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
