#!/usr/bin/env python3
"""Prints src/data/text/lower_case_table.h: which code points have a lower case of one code point.

usage: tools/lower_case_table.py >src/data/text/lower_case_table.h && tools/format.sh

From the Unicode data of this Python, whose str.lower() the tests compare with.
"""

import unicodedata

HEAD = """#pragma once

// Made by tools/lower_case_table.py from the data of Unicode {version}.

#include <cstdint>

namespace trireme::data {{

// Code points first, first + step ... last have as their lower case the one `shift` further on.
struct LowerCaseRun {{
  char32_t first, last;
  std::int32_t step, shift;
}};

inline constexpr LowerCaseRun kLowerCase[] = {{
"""


def runs():
    found = []
    for code in range(0x110000):
        lower = chr(code).lower()
        if len(lower) != 1 or ord(lower) == code:
            continue
        shift = ord(lower) - code
        if found:
            first, last, step, before = found[-1]
            if shift == before and (code - last == step or first == last and code - last == 2):
                found[-1] = (first, code, code - last, shift)
                continue
        found.append((code, code, 1, shift))
    return found


def main():
    print(HEAD.format(version=unicodedata.unidata_version), end="")
    print("\n".join(f"{{0x{a:X}, 0x{b:X}, {s}, {d}}}," for a, b, s, d in runs()))
    print("};\n\n}  // namespace trireme::data")


if __name__ == "__main__":
    main()
