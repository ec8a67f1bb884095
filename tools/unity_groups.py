#!/usr/bin/env python3
"""Says which sources of a target can be compiled as one: a line "GROUP FILE" each, GROUP 0 for
those that go alone.

    tools/unity_groups.py --size 10 src/nn/*.cc

CMake asks it where TRIREME_UNITY is on (cmake/TriremeUnity.cmake). What a file keeps to itself, in
a namespace without a name, the others of its group see too, so no two files of a group may define
the same there, and a file goes alone that hides what a header declares, or that defines macros.
Definitions are read off lines that begin at the margin, where our format has all that a namespace
holds; what that overlooks the compiler finds, and a name that says more mends it. """

import argparse
import collections
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEYWORDS = {"if", "for", "while", "switch", "return", "case", "else", "do", "public", "private", "protected", "namespace",
            "extern", "template", "friend", "typedef", "goto", "default", "try", "catch", "static_assert"}
TYPE = re.compile(r"(?:template\s*<[^;{]*>\s*)?(?:struct|class|union|enum(?:\s+class)?)\s+(?:\[\[\w+\]\]\s*)?(\w+)")
ALIAS = re.compile(r"using\s+(\w+)\s*=(.*)")
TEST = re.compile(r"(?:(?:TYPED_)?TEST(?:_F|_P)?|INSTANTIATE_TEST_SUITE_P)\((\w+,\s*\w+)\b")
NAMED = re.compile(r"(?:^|[\s&*>])(\w+)\s*(?:\[[^]]*\]\s*)*([({=;])")


def parameter_types(text):
    """The types in "(int a, const Block& b = {})...", without const and references: ("int",
    "Block")."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter in "(<[{") - (letter in ")>]}")
        if depth == 0:
            break
        if letter == "," and depth == 1:
            parts.append("")
        elif depth > 1 or letter != "(":
            parts[-1] += letter
    types = []
    for part in parts:
        words = re.sub(r"\bconst\b|[&*]", " ", part.split("=")[0]).split()
        if words:
            types.append(" ".join(words[:-1] or words))
    return tuple(types)


def definition(text, start):
    """What the line at `start` defines: a name, and the target of an alias or the parameter types
    of a function."""
    line = text[start:text.find("\n", start)]
    for kind in (TYPE, TEST):
        match = kind.match(line)
        if match:
            return match.group(1), None
    match = ALIAS.match(line)
    if match:
        return match.group(1), match.group(2)
    if re.split(r"\W", line)[0] in KEYWORDS or line.startswith("using "):
        return None
    match = NAMED.search(line)
    if not match or line[:match.start(1)].endswith("::"):
        return None
    parameters = parameter_types(text[start + match.start(2):]) if match.group(2) == "(" else None
    return match.group(1), parameters


def definitions(text, hidden_alone):
    """What a file defines, by (namespace, name); `hidden_alone`: in namespaces without a name."""
    found, space, hidden = collections.defaultdict(set), "", False
    for match in re.finditer(r"^(?=[A-Za-z_}])(.*)$", text, re.M):
        line = match.group(1)
        if line.startswith("namespace {"):
            hidden = True
        elif line == "}  // namespace":
            hidden = False
        elif line.startswith("namespace "):
            space = line.split()[1]
        elif hidden or not hidden_alone or line.startswith(("static ", "constexpr ", "TEST")):
            defined = definition(text, match.start())
            if defined:
                found[space, defined[0]].add(defined[1])
    return found


@functools.cache
def declared():
    """What headers declare."""
    found = collections.defaultdict(set)
    for folder in ("src", "include", "tests", "apps"):
        for header in (ROOT / folder).rglob("*.h"):
            for where, what in definitions(header.read_text(), False).items():
                found[where] |= what
    return found


# Block, ir::Block, std::vector<Block>
CLASS = re.compile(r"(?:\w+::)*[A-Z]\w*|std::\w+<\s*[A-Z]\w*\s*>")


def both_may_be(one, other):
    """Whether one namespace may hold both definitions: the same alias twice, or overloads that no
    call can confuse.

    Overloads differ in the number of parameters or, at one place, in the class they take. Other
    types do not count, since one converts to another or is an alias of it. """
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        return isinstance(one, str) and one == other
    if len(one) != len(other):
        return True
    return any(CLASS.fullmatch(a) and CLASS.fullmatch(b) and a.split("::")[-1] != b.split("::")[-1]
               for a, b in zip(one, other))


def clash(some, others):
    return any(not both_may_be(one, other) for where, own in some.items() for one in own for other in others.get(where, ()))


def hides_what_is_declared(own):
    """Whether a name of these is also that of something else in a header, of the same namespace or
    of one around it."""
    for (space, name), what in own.items():
        parts = space.split("::")
        for length in range(1, len(parts) + 1):
            there = declared().get(("::".join(parts[:length]), name), set())
            # A function in an inner namespace hides all functions of its name outside.
            inner = length < len(parts)
            if any((inner and isinstance(one, tuple)) or not both_may_be(one, other)
                   for one in what for other in there):
                return True
    return False


def groups(texts, size):
    """For each text, the number of its group from 1, or 0 if it goes alone."""
    found, result = [], []  # [what its files define, how many they are]
    for text in texts:
        own = definitions(text, True)
        if hides_what_is_declared(own) or re.search(r"^#\s*(define|undef)|^using namespace", text, re.M):
            result.append(0)
            continue
        for index, group in enumerate(found):
            if group[1] < size and not clash(own, group[0]):
                break
        else:
            index = len(found)
            found.append([{}, 0])
        for where, what in own.items():
            found[index][0].setdefault(where, set()).update(what)
        found[index][1] += 1
        result.append(index + 1)
    return [number if number and found[number - 1][1] > 1 else 0 for number in result]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=10, help="the most files of a group")
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    numbers = groups([source.read_text() for source in arguments.sources], arguments.size)
    for number, source in zip(numbers, arguments.sources):
        print(number, source)


if __name__ == "__main__":
    main()
