#!/usr/bin/env python3
"""Prints the Flesch-Kincaid grade of every page of docs/: the school years that its sentences need.

    tools/python-env.sh textstat; tools/readability.py --max 10
    tools/readability.py docs/tutorials README.md

Exits 1 if a page is above --max. Only sentences count: headings, tables, code blocks, generated
blocks and the targets of links are left out, and a code span is one short word. Exits 2 where the
package textstat is missing.
"""

import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "prose"))
import markdown_text  # noqa: E402

VENV = os.path.join(os.path.dirname(HERE), "build/venv/bin/python")
CODE = "code"  # stands for a code span: one word of one syllable


def import_textstat():
    """The module; runs this script again with the interpreter of tools/python-env.sh to have it."""
    try:
        import textstat
        return textstat
    except ImportError:
        python = os.environ.get("TRIREME_TEXTSTAT_PYTHON", VENV)
        if os.path.exists(python) and not os.environ.get("TRIREME_READABILITY_AGAIN"):
            os.environ["TRIREME_READABILITY_AGAIN"] = "1"
            os.execv(python, [python, *sys.argv])
        print("tools/readability.py: no package textstat\n"
              "  hint   tools/python-env.sh textstat gets it from PyPI", file=sys.stderr)
        sys.exit(2)


def sentences_of(markdown):
    """The sentences of a page as strings, without markup; each ends with a full stop."""
    found = []
    for passage in markdown_text.parse(markdown).prose:
        if passage.kind in ("text", "item"):
            for _, words in markdown_text.sentences(passage, code=CODE):
                found.append(" ".join(words).rstrip(".:;,!?") + ".")
    return found


def pages(root, paths):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--", *(paths or ["docs"])],
                            check=True, capture_output=True, text=True).stdout
    return [path for path in listed.split("\0") if path.endswith(".md")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.dirname(HERE), help="the checkout to look at")
    parser.add_argument("--max", type=float, help="the highest grade a page may have")
    parser.add_argument("paths", nargs="*", help="files and folders of the checkout (default: docs)")
    arguments = parser.parse_args()
    textstat = import_textstat()
    above = 0
    print(f"{'grade':>5} {'words':>6} {'sentences':>9}  page")
    for path in pages(arguments.root, arguments.paths):
        with open(os.path.join(arguments.root, path), encoding="utf-8") as file:
            sentences = sentences_of(file.read())
        if not sentences:
            continue
        text = " ".join(sentences)
        grade = textstat.flesch_kincaid_grade(text)
        too_high = arguments.max is not None and grade > arguments.max
        above += too_high
        print(f"{grade:5.1f} {len(text.split()):6} {len(sentences):9}  {path}"
              f"{'  above ' + format(arguments.max, 'g') if too_high else ''}")
    if above:
        print(f"readability: {above} pages above grade {arguments.max:g}")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
