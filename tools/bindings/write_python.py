"""Writes the Python modules."""

import re
import textwrap

from arguments import literal, python_name

RECORDS = '''"""Classes of settings.

Made from the public headers by tools/bindings; do not edit."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from trireme._core import Initializer
'''
HEADER = '''# mypy: disable-error-code="no-any-return"
"""{doc}

Made from the public headers by tools/bindings; do not edit."""

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from trireme._core import (Dataset, DType, Initializer, Metric, Optimizer, Program, Schedule, Step,
                           Value, call)
{records}
V = TypeVar("V", bound=Value)  # a Value of a Program, or an Array
'''


def wrapped(text, indent, first=""):
    return textwrap.fill(text, 100, initial_indent=" " * indent + first,
                         subsequent_indent=" " * (indent + (4 if first else 0)),
                         break_long_words=False, break_on_hyphens=False)


def doc_string(doc, arguments):
    text = (doc or "See the C++ reference.").replace("\\", "\\\\").replace('"""', "'''")
    lines = wrapped('"""' + text, 4)
    described = [a for a in arguments if a.doc]
    if described:
        lines += "\n\n    Args:\n" + "\n".join(
            wrapped(a.doc.replace("\\", "\\\\"), 8, f"{a.name}: ") for a in described)
        return lines + '\n    """\n'
    return lines + '"""\n'


def parameter(argument):
    hint = argument.hint
    if argument.default == "None" and "None" not in hint:
        hint += " | None"
    text = f"{argument.name}: {hint}"
    return text if argument.default is None else f"{text} = {argument.default}"


def signature_parts(arguments, alias):
    parts = []
    for argument in arguments:
        if argument.keyword and "*" not in parts:
            parts.append("*")
        parts.append(parameter(argument))
    if alias:
        parts += ([] if "*" in parts else ["*"]) + ["lr: float | Schedule | None = None"]
    return parts


def with_arrays(arguments, result):
    """Hints by which a function of Arrays returns Arrays."""
    hints = " ".join([a.hint for a in arguments] + [result])
    if len(re.findall(r"\bValue\b", hints)) > 1 and any(re.search(r"\bValue\b", a.hint) for a in arguments):
        for argument in arguments:
            argument.hint = re.sub(r"\bValue\b", "V", argument.hint)
        result = re.sub(r"\bValue\b", "V", result)
    return result


def function_text(name, key, doc, arguments, result):
    result = with_arrays(arguments, result)
    head = f"def {name}({{}}) -> {result}:"
    alias = any(a.name == "learning_rate" for a in arguments)
    if alias:  # not given, so that `lr` may be given instead
        for argument in arguments:
            if argument.name == "learning_rate":
                argument.doc = f"{argument.doc + ' ' if argument.doc else ''}Default: {argument.default}; `lr` is the same."
                argument.default = "None"
    line = head.format(", ".join(signature_parts(arguments, alias)))
    if len(line) > 100:
        # A parameter stays on one line.
        parts = [part.replace(" ", "\0") for part in signature_parts(arguments, alias)]
        filled = textwrap.fill(", ".join(parts), 100, initial_indent=" " * 8,
                               subsequent_indent=" " * 8, break_long_words=False)
        line = head.format("\n" + filled.replace("\0", " "))
    body = f"    return call(\"{key}\", locals())\n"
    return f"\n\n{line}\n{doc_string(doc, arguments)}{body}"


def record_text(struct, types):
    """A class of settings, such as Clip."""
    doc = wrapped('"""' + (struct.doc or "Settings.") + '"""', 4)
    lines = [f"\n\n@dataclass\nclass {struct.name.split('::')[-1]}:\n{doc}\n"]
    for member in struct.members:
        hint = types.argument(member.type, struct.name)
        default = literal(member.default or "{}", hint)
        if default == "None":
            hint += " | None"
        lines.append(f"    {python_name(member.name)}: {hint} = {default}")
    return "\n".join(lines) + "\n"


def records(types):
    texts = [record_text(struct, types) for struct in types.records.values()]
    return RECORDS + "".join(texts)


def module(doc, functions, types, names_of_functions):
    names = sorted(name.split("::")[-1] for name in types.records)
    listed = textwrap.fill(", ".join(names), 100, initial_indent=" " * 4,
                           subsequent_indent=" " * 4)
    records = f"from trireme._made.records import (\n{listed})\n" if names else ""
    text = HEADER.format(doc=doc, records=records)
    listed = ", ".join(f'"{name}"' for name in sorted(names_of_functions))
    text += "\n__all__ = [\n" + wrapped(listed, 4) + "\n]\n"
    return text + "".join(functions)
