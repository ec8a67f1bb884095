#!/usr/bin/env python3
"""Makes the Python functions of ops from the catalog.

    trireme catalog | tools/gen_python.py > ops.py

docs/explanation/python.md says why they are generated.
"""

import json
import keyword
import sys

TYPES = {"bool": "bool", "int": "int", "float": "float", "string": "str", "ints": "Sequence[int]",
         "floats": "Sequence[float]", "dtype": "DType", "shape": "Sequence[int | str]"}

HEADER = '''"""Functions of Values, one for each op. Made by tools/gen_python.py."""

from collections.abc import Sequence

from trireme import _core
from trireme._core import DType, Value

Operand = Value | float
'''


def python_name(name):
    return name + "_" if keyword.iskeyword(name) else name


def default_text(value, kind):
    """A default as Python code. Lists are tuples, which cannot change."""
    if kind == "shape":  # the catalog has its text
        return "()" if value == "[]" else repr(value)
    if isinstance(value, list):
        return f"({', '.join(map(repr, value))}{',' if len(value) == 1 else ''})"
    if kind == "dtype":
        return f"DType.{value}"
    return repr(float(value) if kind == "float" else value)


def parameter(attribute):
    text = f"{attribute['name']}: {TYPES[attribute['kind']]}"
    if attribute.get("required"):
        return text
    return f"{text} = {default_text(attribute['default'], attribute['kind'])}"


def function(op):
    operands = op["operands"]
    operand = "Operand" if op["elementwise"] else "Value"
    parameters = [f"{python_name(name)}: {operand}" for name in operands]
    values = f"[{', '.join(map(python_name, operands))}]"
    if op["variadic"]:
        parameters[-1] = f"{operands[-1]}: Sequence[{operand}]"
        values = f"[{''.join(python_name(name) + ', ' for name in operands[:-1])}*{operands[-1]}]"
    if op["attributes"]:
        parameters += ["*", *map(parameter, op["attributes"])]
    attributes = ", ".join(f"(\"{a['name']}\", \"{a['kind']}\", {a['name']})"
                           for a in op["attributes"])
    call = f"_core.emit(\"{op['name']}\", {values}, [{attributes}])"
    single = len(op["results"]) == 1
    doc = op["doc"].replace("\\", "\\\\").replace("\n", "\n    ")
    return (f"\n\ndef {python_name(op['name'])}({', '.join(parameters)}) -> "
            f"{'Value' if single else 'list[Value]'}:\n"
            f'    """{doc}"""\n    return {call}{"[0]" if single else ""}\n')


def main():
    catalog = json.load(sys.stdin)
    public = [op for op in catalog["ops"]
              if not op["internal"] and not op["blocks"] and not op["variadic_results"]]
    sys.stdout.write(HEADER + "".join(map(function, public)))


if __name__ == "__main__":
    main()
