"""Writes the C++ functions that the Python modules call."""


def identifier(name):
    return name.replace("::", "_").replace(".", "_")


def set_lines(arguments):
    return [f'  call.{"require" if a.default is None else "set"}("{a.name}", {a.member});'
            for a in arguments if a.member]


def call_text(function, arguments, call):
    """The lines that collect the arguments and call the function."""
    lines = []
    values = []
    for kind, name, rest in call:
        if kind == "value":  # a view needs something to look at
            rest.type = rest.type.replace("string_view", "string")
        if kind == "options":
            lines.append(f"  {rest} {name};")
            values.append(name)
        elif kind == "default":
            values.append(rest)
        elif rest.default is None:
            values.append(f'call.get<{rest.type}>("{name}")')
        else:
            lines.append(f"  {rest.type} {name} = {rest.default};")
            lines.append(f'  call.set("{name}", {name});')
            values.append(name)
    lines += set_lines(arguments)
    if function.where:
        values.append("call.where()")
    result = f"trireme::{function.name}({', '.join(values)})"
    lines.append(f"  {result};\n  return nb::none();" if function.result == "void"
                 else f"  return to_python({result});")
    return lines


def function_cpp(key, bodies):
    """`bodies`: (condition or None, lines) of each overload, the longest first."""
    lines = [f"nb::object {identifier(key)}(const Call& call) {{"]
    for condition, body in bodies:
        if condition:
            lines.append(f'  if (call.has("{condition}")) {{')
            lines += ["  " + line for line in body]
            lines.append("  }")
        else:
            lines += body
    lines.append("}")
    return "\n".join(lines)


def optimizer_cpp(key, struct, arguments):
    lines = [f"  {struct.name} options;", *set_lines(arguments),
             "  return to_python(Optimizer(options));"]
    return function_cpp(key, [(None, lines)])


def module_cpp(name, headers, functions, table):
    includes = "".join(f'#include "trireme/{header}"\n' for header in headers)
    rows = "".join(f'      {{"{key}", {identifier(key)}}},\n' for key in table)
    body = "\n\n".join(functions)
    return f"""// Made by tools/bindings; do not edit.

#include "arguments.h"
{includes}
namespace trireme::python {{

namespace {{

using namespace data;
using namespace nn;

{body}

}}  // namespace

std::span<const CallEntry> {name}_functions() {{
  static constexpr CallEntry kFunctions[] = {{
{rows}  }};
  return kFunctions;
}}

}}  // namespace trireme::python
"""


def conversions(types, record_arguments, headers):
    """The texts of conversions.h and conversions.cc."""
    includes = "".join(f'#include "trireme/{header}"\n' for header in headers)
    readable = [*types.enums, *types.records, *types.tuples]
    declared = "".join(f"bool read(nb::handle given, {name}& value);\n" for name in readable)
    declared += "".join(f"nb::object to_python(const {name}& values);\n" for name in types.tuples)
    header = f"""#pragma once

// Made by tools/bindings; do not edit.

#include <nanobind/nanobind.h>

{includes}
namespace trireme::python {{

namespace nb = nanobind;

{declared}
}}  // namespace trireme::python
"""
    bodies = [enum_cpp(name, words) for name, words in types.enums.items()]
    bodies += [values_cpp(struct) for struct in types.tuples.values()]
    bodies += [record_cpp(struct, record_arguments[name])
               for name, struct in types.records.items()]
    body = "\n\n".join(bodies)
    source = f"""// Made by tools/bindings; do not edit.

#include "arguments.h"

namespace trireme::python {{

{body}

}}  // namespace trireme::python
"""
    return header, source


def record_cpp(struct, arguments):
    """Reads a class of settings from a Python object or a dict."""
    lines = [f"bool read(nb::handle given, {struct.name}& options) {{",
             "  const std::optional<Call> found = Call::of_record(given);",
             "  if (!found) return false;", "  const Call& call = *found;", *set_lines(arguments),
             "  return true;", "}"]
    return "\n".join(lines)


def enum_cpp(name, words):
    values = ", ".join(f'{{"{word}", {name}::{word}}}' for word in words)
    return (f"bool read(nb::handle given, {name}& value) {{\n"
            f"  return read_word<{name}>(given, {{{values}}}, value);\n}}")


def values_cpp(struct):
    """Structs of Values: a tuple in Python."""
    reads = "\n".join(f"         read(given[{i}], values.{m.name}) &&"
                      for i, m in enumerate(struct.members))
    count = len(struct.members)
    makes = ", ".join(f"to_python(values.{m.name})" for m in struct.members)
    return (f"bool read(nb::handle given, {struct.name}& values) {{\n"
            f"  return is_tuple(given, {count}) &&\n{reads.removesuffix(' &&')};\n}}\n"
            f"nb::object to_python(const {struct.name}& values) {{\n"
            f"  return nb::make_tuple({makes});\n}}")
