"""The arguments of a Python function: those of the C++ function, with options as keywords."""

import keyword
import re
from dataclasses import dataclass

NAMES = {"axes": "axis", "keep": "keepdims"}  # the words of NumPy
NUMBER = re.compile(r"-?[0-9.]+(e-?[0-9]+)?$")


@dataclass
class Argument:
    name: str  # in Python
    hint: str
    default: str | None  # Python text; None: it must be given
    doc: str
    keyword: bool  # only by keyword
    member: str | None  # "options.units"; None: a parameter of its own
    type: str  # of C++


def python_name(name):
    name = NAMES.get(name, name)
    return name + "_" if keyword.iskeyword(name) else name


def literal(text, hint):
    """A C++ default as Python text; "None" where Python has no literal for it."""
    text = re.sub(r"^\{(.+)\}$", r"\1", text)
    if text in ("true", "false"):
        return text.capitalize()
    if NUMBER.match(text):
        return f"{float(text)!r}" if hint.startswith("float") else text
    if "infinity()" in text:
        return '-math.inf' if text.startswith("-") else "math.inf"
    if text.startswith('"'):
        return text
    if text.startswith("DType::"):
        return text.replace("::", ".")
    if "Literal" in hint and "::" in text:
        return f'"{text.split("::")[-1]}"'
    if hint.startswith("str | Callable") and text.isidentifier():
        return f'"{text}"'
    return "None"


def _argument(member, scope, types, only_keyword, path):
    hint = types.argument(member.type, scope)
    if hint is None:
        return None
    if hint == "Program":
        return Argument("program", hint, "None", "Default: that of Arrays.", True, path, member.type)
    default = None
    doc = member.doc
    if not member.required and member.default is not None:
        default = literal(member.default, hint)
        if default == "None" and re.search(r"[a-z]", member.default):
            doc = f"{doc + ' ' if doc else ''}Default: {member.default}."
    return Argument(python_name(member.name), hint, default, doc,
                    only_keyword and not member.required, path, member.type)


def options_arguments(struct, path, types):
    """The arguments that stand for the members of an options struct."""
    found = []
    attributes = struct.name.endswith("Attrs")
    for i, member in enumerate(struct.members):
        where = f"{path}.{member.name}"
        if types.is_options(member.type, struct.name):
            inner = options_arguments(types.struct(member.type, struct.name), where, types)
            taken = {m.name for m in struct.members}
            found += [a for a in inner if a.name not in taken]
            continue
        # What an op takes first is often written without its name: sum(x, 1).
        argument = _argument(member, struct.name, types, not (attributes and i == 0), where)
        if argument:
            found.append(argument)
    return found


def arguments_of(function, types):
    """The arguments of a function, and the text of each C++ parameter; None if Python has no type
    for one of them."""
    found = []
    call = []
    for parameter in function.parameters:
        if types.is_options(parameter.type, function.name):
            struct = types.struct(parameter.type, function.name)
            found += options_arguments(struct, parameter.name, types)
            call.append(("options", parameter.name, struct.name))
            continue
        argument = _argument(parameter, function.name, types, False, None)
        if argument is None:
            if parameter.default is None:
                return None
            call.append(("default", parameter.name, parameter.default))
            continue
        found.append(argument)
        call.append(("value", argument.name, parameter))
    # Python wants arguments without defaults first, and keywords last.
    found.sort(key=lambda a: (a.keyword, a.default is not None))
    if len({a.name for a in found}) < len(found):
        raise SystemExit(f"bindings: two arguments of {function.name} have one name")
    return found, call
