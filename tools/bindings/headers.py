"""Functions, structs and comments of the public headers, by libclang."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from clang.cindex import CursorKind, Index

SECTION = re.compile(r"// --- (.*?) ?-*$")


@dataclass
class Member:
    """A member of a struct or a parameter of a function."""
    name: str
    type: str  # without const and &
    default: str | None  # the C++ text; None: there is none
    doc: str = ""
    required: bool = False


@dataclass
class Struct:
    name: str  # qualified, without trireme::
    members: list[Member]
    header: str
    doc: str
    callable: bool = False  # has operator(): an activation


@dataclass
class Function:
    name: str  # qualified, without trireme::
    parameters: list[Member]
    result: str
    header: str
    doc: str
    where: bool  # the last parameter is the caller's SourceLocation


@dataclass
class Headers:
    functions: list[Function] = field(default_factory=list)
    structs: dict[str, Struct] = field(default_factory=dict)
    enums: dict[str, list[str]] = field(default_factory=dict)


def plain(spelling):
    """A type without const, & and the namespace of the project."""
    text = spelling.replace("const ", "").replace("&", "").replace("trireme::", "").strip()
    return text.removeprefix("enum ").removeprefix("struct ")


class Comments:
    """The comments of a file. A declaration has the lines directly above it, or, in a group without
    empty lines, those above the declaration before it."""

    def __init__(self, path):
        self.lines = Path(path).read_text(encoding="utf-8").splitlines()

    def _text(self, lines):
        return " ".join(line.strip().removeprefix("//").strip() for line in lines).strip()

    def above(self, line):
        """The comment above a line (from 1)."""
        last = line - 2
        first = last
        while first >= 0 and self.lines[first].strip().startswith("//") and \
                not SECTION.match(self.lines[first].strip()):
            first -= 1
        return self._text(self.lines[first + 1:last + 1])

    def after(self, line):
        """The comment at the end of a line and on the lines after it that hold nothing else and
        begin where it begins."""
        text = self.lines[line - 1]
        place = text.find("//")
        if place < 0:
            return ""
        lines = [text[place:]]
        for following in self.lines[line:]:
            if following.find("//") != place or following[:place].strip():
                break
            lines.append(following)
        return self._text(lines)

    def empty(self, line):
        return line < 1 or not self.lines[line - 1].strip()


def _default(cursor):
    """The text of the initializer of a member or parameter."""
    tokens = [token.spelling for token in cursor.get_tokens()]
    if cursor.spelling not in tokens:
        return None  # of a macro
    tokens = tokens[len(tokens) - tokens[::-1].index(cursor.spelling):]
    if not tokens or tokens[0] not in "={":
        return None
    return "".join(tokens[1:] if tokens[0] == "=" else tokens)


class Reader:
    def __init__(self, names):
        self.names = names  # "nn.h": only declarations of these headers are read
        self.found = Headers()
        self._comments = {}

    def comments(self, path):
        if path not in self._comments:
            self._comments[path] = Comments(path)
        return self._comments[path]

    def walk(self, cursor, scope):
        previous = None  # the function before, whose comment a group shares
        for child in cursor.get_children():
            file = child.location.file
            if file is None or "/trireme/" not in file.name:
                continue
            header = Path(file.name).name
            if child.kind == CursorKind.NAMESPACE:
                self.walk(child, [*scope, child.spelling])
            elif child.kind == CursorKind.STRUCT_DECL and child.is_definition():
                self.struct(child, scope, header)
            elif child.kind == CursorKind.ENUM_DECL:
                self.enum(child, scope)
            elif child.kind == CursorKind.FUNCTION_DECL and header in self.names:
                previous = self.function(child, scope, header, previous)

    def enum(self, cursor, scope):
        name = "::".join([*scope, cursor.spelling][1:])
        self.found.enums[name] = [c.spelling for c in cursor.get_children()
                                  if c.kind == CursorKind.ENUM_CONSTANT_DECL]

    def struct(self, cursor, scope, header):
        name = "::".join([*scope, cursor.spelling][1:])
        comments = self.comments(cursor.location.file.name)
        members = []
        kinds = [c.kind for c in cursor.get_children()]
        for child in cursor.get_children():
            if child.kind == CursorKind.ENUM_DECL:
                self.enum(child, [*scope, cursor.spelling])
            if child.kind == CursorKind.STRUCT_DECL and child.is_definition():
                self.struct(child, [*scope, cursor.spelling], header)
            if child.kind == CursorKind.CXX_METHOD and child.is_static_method() and \
                    header in self.names:
                self.function(child, [*scope, cursor.spelling], header, None)
            if child.kind != CursorKind.FIELD_DECL or "Deprecated" in child.type.spelling:
                continue
            line = child.extent.end.line
            doc = " ".join(filter(None, [comments.above(child.extent.start.line),
                                         comments.after(line)]))
            required = doc.startswith("required")
            doc = re.sub(r"^required(: |; |$)", "", doc)
            members.append(Member(child.spelling, plain(child.type.spelling), _default(child), doc,
                                  required))
        callable_ = any(c.spelling == "operator()" for c in cursor.get_children())
        if CursorKind.CONSTRUCTOR in kinds and not callable_:
            members = []  # a type with its own conversions, such as Pair
        self.found.structs[name] = Struct(name, members, header,
                                          comments.above(cursor.extent.start.line), callable_)

    def function(self, cursor, scope, header, previous):
        if cursor.spelling.startswith("operator") or "detail" in scope or \
                cursor.availability.name == "DEPRECATED":
            return previous
        parameters = [Member(p.spelling, plain(p.type.spelling), _default(p))
                      for p in cursor.get_arguments()]
        where = bool(parameters) and parameters[-1].type == "SourceLocation"
        if where:
            parameters.pop()
        comments = self.comments(cursor.location.file.name)
        line = cursor.extent.start.line
        doc = comments.above(line) or comments.after(cursor.extent.end.line)
        if not doc and previous and previous[0].header == header and \
                not any(map(comments.empty, range(previous[1], line))):
            doc = previous[0].doc
        if not doc:  # of an op or layer after its options: what is written above these
            options = [p.type for p in parameters]
            doc = " ".join(self.found.structs[self.qualified(t, scope)].doc for t in options
                           if self.qualified(t, scope) in self.found.structs)
        made = Function("::".join([*scope, cursor.spelling][1:]), parameters,
                        plain(cursor.result_type.spelling), header, doc, where)
        self.found.functions.append(made)
        return made, cursor.extent.end.line

    def qualified(self, type_name, scope):
        for depth in range(len(scope), 0, -1):
            name = "::".join([*scope[1:depth], type_name])
            if name in self.found.structs:
                return name
        return type_name


def read(include_folders, names):
    """The declarations of trireme/NAME for each of the names."""
    gcc = subprocess.run(["c++", "-print-file-name=include"], capture_output=True, text=True,
                         check=True).stdout.strip()
    text = "".join(f'#include "trireme/{name}"\n' for name in names)
    arguments = ["-x", "c++", "-std=c++20", "-isystem", gcc, *(f"-I{f}" for f in include_folders)]
    unit = Index.create().parse("all.h", args=arguments, unsaved_files=[("all.h", text)])
    errors = [str(d) for d in unit.diagnostics if d.severity >= 3]
    if errors:
        raise SystemExit("bindings: the headers do not compile:\n" + "\n".join(errors))
    reader = Reader(set(names))
    reader.walk(unit.cursor, [])
    return reader.found
