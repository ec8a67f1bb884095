#!/usr/bin/env python3
"""Writes src/data/text/unicode_tables.h from the Unicode data that this Python has.

    tools/gen_unicode.py && tools/format.sh

Run it by hand to take a later version of Unicode; how text is cut into words then changes with it.
"""

import pathlib
import sys
import unicodedata

# The property White_Space of Unicode; characters of category Cc join them.
WHITE = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, *range(0x09, 0x0E),
         *range(0x2000, 0x200B)}


def is_white(code):
    return code in WHITE or unicodedata.category(chr(code)) == "Cc"


def is_mark(code):
    """Punctuation and symbols, but for what joins words, as "_" does (Pc)."""
    category = unicodedata.category(chr(code))
    return category[0] in "PS" and category != "Pc"


def ranges(holds):
    """[first, last] of each run of code points for which it holds."""
    found = []
    for code in range(sys.maxunicode + 1):
        if not holds(code):
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def lower_of(code):
    """The simple mapping: one code point (of U+0130 alone Python gives two)."""
    return ord(chr(code).lower()[0])


def lower_runs():
    """[first, last, step, delta]: every step-th code point from first to last becomes itself +
    delta."""
    runs = []
    for code in range(sys.maxunicode + 1):
        delta = lower_of(code) - code
        if delta == 0:
            continue
        run = runs[-1] if runs else None
        if run and run[3] == delta and run[0] == run[1] and code - run[1] <= 2:
            run[1], run[2] = code, code - run[1]
        elif run and run[3] == delta and code - run[1] == run[2]:
            run[1] = code
        else:
            runs.append([code, code, 1, delta])
    return runs


def table(kind, name, rows):
    body = ", ".join("{" + ", ".join(f"0x{x:X}" if i < 2 else str(x) for i, x in enumerate(row)) + "}"
                     for row in rows)
    return f"inline constexpr {kind} {name}[] = {{{body}}};\n\n"


def main():
    out = pathlib.Path(__file__).parent.parent / "src/data/text/unicode_tables.h"
    out.write_text(
        "#pragma once\n\n"
        f"// Made by tools/gen_unicode.py from Unicode {unicodedata.unidata_version}.\n\n"
        "#include <cstdint>\n\nnamespace trireme::data {\n\n"
        "// Code points from first to last.\n"
        "struct CodeRange {\n  char32_t first;\n  char32_t last;\n};\n\n"
        "// Every step-th code point from first to last becomes itself + delta.\n"
        "struct CaseRange {\n  char32_t first;\n  char32_t last;\n"
        "  std::uint8_t step;\n  std::int32_t delta;\n};\n\n"
        "// White_Space and control characters.\n" + table("CodeRange", "kWhite", ranges(is_white))
        + "// Punctuation and symbols, but for Pc.\n" + table("CodeRange", "kMarks", ranges(is_mark))
        + "// To lower case.\n" + table("CaseRange", "kLower", lower_runs())
        + "}  // namespace trireme::data\n", encoding="utf-8")


main()
