"""The types of C++ that Python functions take and return, and how Python writes them."""

import re

# C++ type: (type of an argument, type of a result)
SIMPLE = {
    "bool": "bool", "int": "int", "std::int64_t": "int", "std::size_t": "int",
    "std::uint64_t": "int", "double": "float", "float": "float", "std::string": "str",
    "std::string_view": "str", "DType": "DType", "Dim": "int | str",
    "Shape": "Sequence[int | str]", "Value": "Value", "Operand": "Value | float",
    "Values": "Sequence[Value]", "std::vector<Value>": "Sequence[Value]",
    "std::vector<Operand>": "Sequence[Value | float]",
    "std::vector<std::int64_t>": "int | Sequence[int]",
    "std::vector<double>": "Sequence[float]", "std::vector<std::string>": "Sequence[str]",
    "Initializer": "Initializer", "Activation": "str | Callable[[Value], Value]",
    "Pair": "int | tuple[int, int]", "Triple": "int | tuple[int, int, int]",
    "Padding": "int | str | tuple[int, ...]", "Padding1d": "int | str | tuple[int, int]",
    "Padding3d": "int | str | tuple[int, ...]", "Schedule": "float | Schedule",
    "Optimizer": "Optimizer", "Metric": "Metric", "Step": "Step", "Program": "Program",
    "ByRows": "Callable[[Sequence[Value]], Sequence[Value]]", "Dataset": "Dataset",
    "data::Dataset": "Dataset",
}
RESULTS = {"void": "None", "Values": "list[Value]", "std::vector<Value>": "list[Value]",
           "Schedule": "Schedule", "Shape": "tuple[int | str, ...]"}
FUNCTION = re.compile(r"std::function<(.*?) ?\((.*)\)>$")
OPTIONAL = re.compile(r"std::optional<(.*)>$")
VECTOR = re.compile(r"std::vector<(.*)>$")


class Types:
    def __init__(self, headers):
        self.headers = headers
        self.enums, self.records, self.tuples = {}, {}, {}  # in use: qualified name to declaration

    def find(self, table, name, scope):
        """The qualified name of a struct or enum that code in `scope` writes as `name`."""
        parts = scope.split("::")
        for depth in range(len(parts), -1, -1):
            full = "::".join([*parts[:depth], name])
            if full in table:
                return full
        return None

    def struct(self, name, scope):
        found = self.find(self.headers.structs, name, scope)
        return self.headers.structs[found] if found else None

    def is_options(self, name, scope):
        struct = self.struct(name, scope)
        return struct is not None and bool(re.search("(Options|Attrs)$", name))

    def is_record(self, name, scope):
        """Whether it is a struct of settings, such as Clip, that becomes a class of Python."""
        struct = self.struct(name, scope)
        return struct is not None and name not in SIMPLE and bool(struct.members) and \
            not struct.callable and all(self.argument(m.type, struct.name) for m in struct.members)

    def is_values(self, name, scope):
        """Whether it is a struct of Values only, such as LstmState: a tuple in Python."""
        struct = self.struct(name, scope)
        return struct is not None and bool(struct.members) and \
            all(m.type in ("Value", "Values", "std::vector<Value>") for m in struct.members)

    def argument(self, name, scope):
        """The Python type of an argument; None if there is none."""
        if name in SIMPLE:
            return SIMPLE[name]
        if match := OPTIONAL.match(name):
            return self.argument(match[1], scope)
        if match := FUNCTION.match(name):
            result = self.argument(match[1], scope)
            takes = [self.argument(part.replace("const ", "").replace("&", "").strip(), scope)
                     for part in match[2].split(",")] if match[2] else []
            return f"Callable[[{', '.join(takes)}], {result}]" if result and all(takes) else None
        if match := VECTOR.match(name):
            inner = self.argument(match[1], scope)
            return f"Sequence[{inner}]" if inner else None
        if enum := self.find(self.headers.enums, name, scope):
            self.enums[enum] = self.headers.enums[enum]
            return "Literal[" + ", ".join(f'"{w}"' for w in self.headers.enums[enum]) + "]"
        if self.is_values(name, scope):
            return self._tuple(name, scope)
        if self.is_record(name, scope):
            struct = self.struct(name, scope)
            self.records[struct.name] = struct
            return name.split("::")[-1]
        return None

    def result(self, name, scope):
        if name in RESULTS:
            return RESULTS[name]
        if self.is_values(name, scope):
            return self._tuple(name, scope)
        return SIMPLE.get(name)

    def _tuple(self, name, scope):
        struct = self.struct(name, scope)
        self.tuples[struct.name] = struct
        return f"tuple[{', '.join(SIMPLE[m.type] for m in struct.members)}]"
