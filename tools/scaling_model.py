#!/usr/bin/env python3
"""The cost model of docs/explanation/scaling.md: distributed training on more machines than anybody
here has.

    tools/scaling_model.py --table            the page's tables
    tools/scaling_model.py --page             puts them into docs/explanation/scaling.md, and draws
    docs/explanation/scaling.svg tools/scaling_model.py --measured FILE    the model against what
    benchmarks/scaling.sh measured into FILE tools/scaling_model.py --constants FILE   with one of
    the others: constants from that file
"""

import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools/scaling"))
import constants  # noqa: E402
import picture  # noqa: E402
import tables  # noqa: E402

PAGE, PICTURE = os.path.join(ROOT, "docs/explanation/scaling.md"), os.path.join(ROOT, "docs/explanation/scaling.svg")


def block(name, text):
    return f"<!-- model: {name} -->\n{text}\n<!-- model: end -->"


def blocks(model):
    """{name: text between the page's marks}."""
    return {name: make(model) for name, make in tables.SECTIONS.items()}


def blocks_of_page(text):
    return {name: text.rstrip("\n") for name, text in
            re.findall(r"<!-- model: (?!end)(\S+) -->\n(.*?)<!-- model: end -->", text, re.S)}


def fill(text, made):
    """The page with the new tables. Each must have its place."""
    missing = made.keys() - blocks_of_page(text).keys()
    if missing:
        raise SystemExit(f"{PAGE} has no place for {', '.join(sorted(missing))}")
    for name, table in made.items():
        text = re.sub(rf"<!-- model: {name} -->\n.*?<!-- model: end -->",
                      lambda _, name=name, table=table: block(name, table), text, count=1, flags=re.S)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--table", action="store_true")
    what.add_argument("--page", action="store_true")
    what.add_argument("--measured", metavar="FILE")
    parser.add_argument("--constants", metavar="FILE", default=constants.MEASURED)
    options = parser.parse_args()
    model = tables.Model(constants.read(options.measured or options.constants), constants.Assumptions())
    if options.measured:
        print(tables.against_measured(model))
        return
    made = blocks(model)
    if options.table:
        print("\n\n".join(block(name, text) for name, text in made.items()))
        return
    with open(PAGE, encoding="utf-8") as file:
        text = fill(file.read(), made)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(picture.draw(model))


if __name__ == "__main__":
    main()
