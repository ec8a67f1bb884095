#!/usr/bin/env python3
"""Makes the public functions of the ops from the op files.

Reads the list TRIREME_OPS in src/ops/CMakeLists.txt and, of every src/ops/<name>.cc in it, the
signature `Op op("...")` and the text `op.doc = "..."`. Writes
    <out>/include/trireme/ops.h   one function per op, and a struct for its attributes
    <out>/ops.cc                  their bodies: calls of emit()
    <out>/op_list.cc              ops::Catalog::Catalog(), the list of all ops
The program describe_signatures parses the signatures, by the parser that the library has.
and, with --reference FILE, the reference page docs/reference/ops.md. Files that would not change
are left alone, so that nothing is compiled again.

usage: gen_ops.py SOURCE_DIR OUT_DIR DESCRIBE_SIGNATURES [--reference FILE] [--check FILE]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import textwrap

STRING = r'"(?:[^"\\]|\\.)*"'
STRINGS = r"((?:%s\s*)+)" % STRING
CPP_TYPES = {
    "bool": "bool",
    "int": "std::int64_t",
    "float": "double",
    "string": "std::string",
    "ints": "std::vector<std::int64_t>",
    "floats": "std::vector<double>",
    "dtype": "DType",
    "shape": "Shape",
}


def fail(path, message):
    sys.exit(f"gen_ops.py: {path}: {message}")


def joined(literals):
    """The text of adjacent C++ string literals."""
    parts = re.findall(STRING, literals)
    return "".join(p[1:-1].replace(r"\"", '"').replace(r"\n", "\n").replace("\\\\", "\\")
                   for p in parts)


def parsed(program, ops):
    """What the signatures of the ops declare: the lines that describe_signatures writes."""
    lines = "".join(op.signature + "\n" for op in ops)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("gen_ops.py: " + done.stderr.strip())
    return json.loads(done.stdout)


class Attribute:
    def __init__(self, declared):
        self.name, self.kind = declared["name"], declared["kind"]
        self.required = declared.get("required", False)
        self.default = declared.get("default")

    def default_text(self):
        """As a signature has it."""
        if self.required:
            return "required"
        if self.kind in ("dtype", "shape"):
            return self.default
        return json.dumps(self.default)

    def cpp_default(self):
        text = self.default_text()
        if self.required or text == "[]":
            return ""
        if self.kind == "dtype":
            return " = DType::" + text
        return " = " + text.replace("[", "{").replace("]", "}")

    def value(self):
        expression = "attributes." + self.name
        return f"std::int64_t{{{expression}}}" if self.kind == "int" else expression


class Op:
    def __init__(self, source_dir, name):
        self.path = os.path.join(source_dir, "src", "ops", name + ".cc")
        try:
            with open(self.path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            fail(self.path, f"listed in TRIREME_OPS but not readable: {error.strerror}")
        signature = re.search(r"\bOp op\(\s*" + STRINGS + r"\)", text)
        doc = re.search(r"\bop\.doc\s*=\s*" + STRINGS + ";", text)
        if not signature:
            fail(self.path, 'no signature `Op op("...")`')
        if not doc:
            fail(self.path, 'no documentation `op.doc = "..."`')
        if not re.search(r"\bOp %s\(\)" % re.escape(name), text):
            fail(self.path, f"no function `Op {name}()`")
        self.name = name
        self.doc = joined(doc[1])
        self.signature = joined(signature[1])
        self.elementwise = "Trait::elementwise" in text
        self.internal = "Trait::internal" in text  # only the compiler makes it: no function
        old_name = re.search(r'\bop\.old_name\s*=\s*"(\w+)"', text)
        self.old_name = old_name[1] if old_name else None
        self.old_attributes = dict(
            (new, old) for old, new in re.findall(r'\{"(\w+)", "(\w+)"\}', "".join(
                re.findall(r"\bop\.old_attributes\s*=\s*(\{\{.*?\}\});", text, re.S))))

    def declare(self, declared):
        """Sets what the signature declares."""
        if declared["name"] != self.name:
            fail(self.path, f"the signature `{self.signature}` is not one of `{self.name}`")
        self.operands = declared["operands"]
        self.variadic = declared["variadic"]  # the last operand
        self.attributes = [Attribute(attribute) for attribute in declared["attributes"]]
        self.results = declared["results"]
        # Made with its blocks by a function of its own, not by one that is generated.
        self.has_blocks = declared["variadic_results"]

    @property
    def struct(self):
        return "".join(word.capitalize() for word in self.name.split("_")) + "Attrs"

    def struct_text(self):
        lines = [f"struct {self.struct} {{"]
        for attribute in self.attributes:
            note = "  // required" if attribute.required else ""
            kind = CPP_TYPES[attribute.kind]
            default = attribute.cpp_default() or "{}"
            lines.append(f"  {kind} {attribute.name}{default};{note}")
            if attribute.name in self.old_attributes:
                old = self.old_attributes[attribute.name]
                lines.append(f'  DeprecatedOption<{kind}, "{old}", "{attribute.name}"> {old} = {{}};')
        return "\n".join(lines + ["};"])

    def prototype(self, defaults):
        result = {0: "void", 1: "Value"}.get(len(self.results), "std::vector<Value>")
        parameters = [] if self.operands else ["const Program& program"]
        takes_numbers = self.elementwise and len(self.operands) > 1
        for operand in self.operands:
            if self.variadic and operand == self.operands[-1]:
                parameters.append(f"const std::vector<Value>& {operand}")
            elif takes_numbers:
                parameters.append(f"const Operand& {operand}")
            else:
                parameters.append(f"const Value& {operand}")
        if self.attributes:
            optional = not any(a.required for a in self.attributes)
            default = " = {}" if defaults and optional else ""
            name = "attributes" if defaults or not self.old_attributes else "given"
            parameters.append(f"const {self.struct}& {name}{default}")
        where = "SourceLocation where"
        parameters.append(where + " = SourceLocation::current()" if defaults else where)
        export = "TRIREME_API " if defaults else ""
        head = f"{export}{result} {self.name}("
        glued = [p.replace(" ", "\0") for p in parameters]  # break between parameters only
        text = head.replace(" ", "\0") + ", ".join(glued)
        return textwrap.fill(text, 99, subsequent_indent="    ",
                             break_long_words=False).replace("\0", " ") + ")"

    def body(self):
        lines = [self.prototype(False) + " {"]
        fixed = self.operands[:-1] if self.variadic else self.operands
        lines.append(f"  std::vector<Operand> operands{{{', '.join(fixed)}}};"
                     if fixed else "  std::vector<Operand> operands;")
        if self.variadic:
            xs = self.operands[-1]
            lines.append(f"  operands.insert(operands.end(), {xs}.begin(), {xs}.end());")
        if self.old_attributes:
            lines.append(f"  {self.struct} attributes = given;")
        for attribute in self.attributes:
            if attribute.name in self.old_attributes:
                lines.append(f"  attributes.{self.old_attributes[attribute.name]}.apply_to("
                             f"attributes.{attribute.name}, "
                             f"{self.struct}().{attribute.name});")
        lines.append("  Attributes all;")
        for attribute in sorted(self.attributes, key=lambda a: a.name):
            lines.append(f'  all.push_back({{"{attribute.name}", {attribute.value()}}});')
        if self.operands:
            call = f'emit("{self.name}", operands, std::move(all), where)'
        else:
            call = f'ops::emit_in(program.ir(), "{self.name}", std::move(all), where)'
        if len(self.results) == 1:
            lines.append(f"  return {call}.front();")
        else:
            lines.append(f"  {'return ' if self.results else ''}{call};")
        return "\n".join(lines + ["}"])

    def declaration(self):
        text = comment(self.doc)
        if len(self.results) > 1:
            text += "\n" + comment("Results: " + ", ".join(self.results) + ".")
        if self.attributes:
            text += "\n" + self.struct_text()
        return text + "\n" + self.prototype(True) + ";" + self.old_function()

    def old_function(self):
        """The function under its old name, which calls the new one."""
        if not self.old_name:
            return ""
        names = self.operands + (["attributes"] if self.attributes else [])
        prototype = self.prototype(True).replace("TRIREME_API ", "")
        prototype = prototype.replace(f" {self.name}(", f" {self.old_name}(", 1)
        return (f'\n[[deprecated("use {self.name}()")]] inline {prototype} {{\n'
                f"  return trireme::{self.name}({', '.join(names + ['where'])});\n}}")

    @property
    def has_function(self):
        return not self.has_blocks and not self.internal

    def reference(self):
        signature = wrapped(self.signature) if len(self.signature) > 97 else self.signature
        lines = [f"## {self.name}", "", "```text", signature, "```", "", one_sentence_a_line(self.doc), ""]
        if self.attributes:
            lines += ["| attribute | kind | default |", "|---|---|---|"]
            lines += [f"| {a.name} | {a.kind} | {a.default_text()} |" for a in self.attributes]
            lines.append("")
        if not self.has_function:
            return "\n".join(lines)
        lines += ["<!-- not run: a signature -->", "```cpp", self.prototype(True).replace("TRIREME_API ", "") + ";", "```", ""]
        return "\n".join(lines)


def wrapped(text):
    return textwrap.fill(text, 99, subsequent_indent="    ", break_long_words=False,
                         break_on_hyphens=False)


def one_sentence_a_line(text):
    sentences = re.sub(r"([.:]) (?=[A-Z])", r"\1\n", text).split("\n")
    return "\n".join(textwrap.fill(s, 99, break_long_words=False, break_on_hyphens=False)
                     for s in sentences)


def comment(text):
    paragraphs = text.split("\n")
    return "\n".join(textwrap.fill(p, 99, initial_indent="// ", subsequent_indent="// ")
                     for p in paragraphs)


def header(ops):
    declarations = "\n\n".join(op.declaration() for op in ops if op.has_function)
    return f"""#pragma once

// The primitive ops, one function each. Made from src/ops by tools/gen_ops.py; do not edit.

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/deprecated.h"
#include "trireme/dtype.h"
#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/shape.h"

namespace trireme {{

{declarations}

}}  // namespace trireme
"""


def bodies(ops):
    text = "\n\n".join(op.body() for op in ops if op.has_function)
    return f"""// Made by tools/gen_ops.py; do not edit.
#include "trireme/ops.h"

#include <utility>

#include "ops/common.h"

namespace trireme {{

{text}

}}  // namespace trireme
"""


def catalog(ops):
    declarations = "\n".join(f"Op {op.name}();" for op in ops)
    entries = "\n".join(f"  add(ops::{op.name}());" for op in ops)
    return f"""// Made by tools/gen_ops.py; do not edit.
#include "ops/op.h"

namespace trireme::ops {{

{declarations}

Catalog::Catalog() {{
{entries}
}}

}}  // namespace trireme::ops
"""


def reference_page(ops):
    def index(some):
        letters = sorted({op.name[0] for op in some})
        lines = [", ".join(f"[{op.name}](#{op.name})" for op in some if op.name[0] == letter)
                 for letter in letters]
        return "\n".join(textwrap.fill(line, 99, initial_indent="- ", subsequent_indent="  ",
                                       break_long_words=False, break_on_hyphens=False)
                         for line in lines)

    public = [op for op in ops if not op.internal]
    internal = [op for op in ops if op.internal]
    return f"""# The primitive ops

Made from the files of `src/ops` by `tools/gen_ops.py`; do not edit.
[add-an-op.md](../how-to/add-an-op.md) says how to add one.

{index(public)}

Only the compiler makes the [internal ops](#internal-ops).

""" + "\n".join(op.reference() for op in public) + """
## Internal ops

They appear in dumps of the compiler.
They have no function in `trireme/ops.h`, and `Program::parse` refuses them.

""" + "\n".join(op.reference().replace("## ", "### ", 1) for op in internal)


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source_dir")
    parser.add_argument("out_dir")
    parser.add_argument("describe_signatures", help="the program that parses signatures")
    parser.add_argument("--reference", help="also write the reference page to this file")
    parser.add_argument("--check", help="fail if this file is not the reference page")
    arguments = parser.parse_args()

    listing = os.path.join(arguments.source_dir, "src", "ops", "CMakeLists.txt")
    with open(listing, encoding="utf-8") as file:
        match = re.search(r"set\(TRIREME_OPS\s([^)]*)\)", file.read())
    if not match:
        fail(listing, "no list set(TRIREME_OPS ...)")
    names = re.sub(r"#.*", "", match[1]).split()
    ops = [Op(arguments.source_dir, name) for name in sorted(names)]
    for op, declared in zip(ops, parsed(arguments.describe_signatures, ops)):
        op.declare(declared)

    write(os.path.join(arguments.out_dir, "include", "trireme", "ops.h"), header(ops))
    write(os.path.join(arguments.out_dir, "ops.cc"), bodies(ops))
    write(os.path.join(arguments.out_dir, "op_list.cc"), catalog(ops))
    if arguments.reference:
        write(arguments.reference, reference_page(ops))
    if arguments.check:
        with open(arguments.check, encoding="utf-8") as file:
            if file.read() != reference_page(ops):
                fail(arguments.check, "not what the op files say; run gen_ops.py --reference")


if __name__ == "__main__":
    main()
