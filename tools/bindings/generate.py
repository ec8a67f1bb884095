#!/usr/bin/env python3
"""Makes the functions of the Python package from the public headers.

    tools/bindings/generate.py --include include --include build/release/generated/include \\
        --python build/release/python/trireme/_made --cpp build/release/python/made

docs/explanation/python.md says why the headers are the description. --list shows what Python does
not get, and changes nothing."""

import argparse
import sys
from pathlib import Path

import headers
import write_cpp
import write_python
from arguments import arguments_of, options_arguments
from cpp_types import Types

# Python module: (headers, namespace in trireme, description)
MODULES = {
    "ops": (["ops.h", "functions.h", "control.h", "nn.h", "gradients.h", "indexing.h", "linalg.h",
             "numeric.h", "fft.h"], "",
            "Functions of Values: ops, and functions composed of them."),
    "losses": (["loss.h", "structured.h"], "nn", "Losses of each example."),
    "nn": (["nn.h", "convolution.h", "recurrent.h", "attention.h", "compression.h"], "nn",
           "Layers: functions that add their parameters to the Program."),
    "sequence": (["sequence.h"], "sequence",
                 "Functions of sequences of different lengths, without padding."),
    "metrics": (["metrics.h", "sequence_metrics.h", "structured.h"], "",
                "Metrics in addition to the loss."),
    "datasets": (["known_data.h", "readers.h"], "data", "Data sets, known ones and files."),
    "optim": (["optimizer.h"], "", "Optimizers."),
    "schedules": (["optimizer.h"], "Schedule", "Learning rates as functions of the step."),
    "jobs": (["job.h"], "", "Job files."),
}
HEADERS = sorted({header for names, _, _ in MODULES.values() for header in names})
# Of these Python has another form, or it does not need them.
SKIPPED = {"nn::find_activation", "nn::activation_names", "nn::apply_updates", "assign",
           "assign_rows", "constant", "keeps_averages"}
# Classes of settings that no function takes as an argument of its own.
RECORDS = ["Average", "Plateau", "Distribution"]


class Module:
    """The texts of one Python module and of its C++ file."""

    def __init__(self, name, types):
        self.name, self.types = name, types
        self.python, self.cpp, self.table, self.left_out = [], [], [], []

    def owns(self, function):
        names, space, _ = MODULES[self.name]
        return function.header in names and function.name.rpartition("::")[0] == space and \
            function.name not in SKIPPED and \
            (function.result == "Metric") == (self.name == "metrics")

    def add(self, overloads):
        """Adds a function. Of its overloads, one with options is preferred; one with the first
        parameters of that makes the others optional."""
        usable = [(f, made, self.types.result(f.result, f.name)) for f in overloads
                  if (made := arguments_of(f, self.types)) and
                  self.types.result(f.result, f.name)]
        if not usable:
            self.left_out.append(overloads[0].name)
            return
        usable.sort(key=lambda u: (not any(kind == "options" for kind, _, _ in u[1][1]),
                                   -len(u[0].parameters)))
        function, (arguments, call), result = usable[0]
        bodies = [(None, write_cpp.call_text(function, arguments, call))]
        for shorter, (fewer, its_call), _ in usable[1:]:
            kept = {a.name for a in fewer}
            missing = [a for a in arguments if a.name not in kept and a.default is None]
            if missing and kept < {a.name for a in arguments}:
                for argument in missing:
                    argument.default = "None"
                bodies = [(missing[0].name, bodies[0][1]),
                          (None, write_cpp.call_text(shorter, fewer, its_call))]
                break
        name = function.name.split("::")[-1]
        key = f"{self.name}.{name}"
        self.python.append(write_python.function_text(name, key, function.doc, arguments, result))
        self.cpp.append(write_cpp.function_cpp(key, bodies))
        self.table.append(key)

    def add_optimizer(self, struct):
        arguments = options_arguments(struct, "options", self.types)
        for argument in arguments:
            argument.keyword = argument.name != "learning_rate"
        arguments.sort(key=lambda a: a.keyword)
        key = f"optim.{struct.name}"
        self.python.append(write_python.function_text(struct.name, key, struct.doc, arguments,
                                                      "Optimizer"))
        self.cpp.append(write_cpp.optimizer_cpp(key, struct, arguments))
        self.table.append(key)


def modules_of(found, types):
    modules = []
    for name in MODULES:
        module = Module(name, types)
        groups = {}
        for function in found.functions:
            if module.owns(function):
                groups.setdefault(function.name, []).append(function)
        for overloads in groups.values():
            module.add(overloads)
        if name == "optim":
            for struct in found.structs.values():
                if struct.header == "optimizer.h" and any(m.name == "learning_rate"
                                                          for m in struct.members):
                    module.add_optimizer(struct)
        modules.append(module)
    return modules


def write(folder, name, text):
    """Writes a file if its content changes, so that builds stay short."""
    path = folder / name
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_all(modules, types, python, cpp):
    records = {name: options_arguments(struct, "options", types)
               for name, struct in list(types.records.items())}
    python.mkdir(parents=True, exist_ok=True)
    cpp.mkdir(parents=True, exist_ok=True)
    write(python, "__init__.py", '"""Made from the public headers by tools/bindings."""\n')
    write(python, "records.py", write_python.records(types))
    for module in modules:
        names, _, doc = MODULES[module.name]
        write(python, module.name + ".py", write_python.module(
            doc, module.python, types, [key.split(".")[1] for key in module.table]))
        write(cpp, module.name + ".cc",
              write_cpp.module_cpp(module.name, names, module.cpp, module.table))
    header, source = write_cpp.conversions(types, records, HEADERS)
    write(cpp, "conversions.h", header)
    write(cpp, "conversions.cc", source)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--python", type=Path)
    parser.add_argument("--cpp", type=Path)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    found = headers.read(options.include, HEADERS)
    types = Types(found)
    for name in RECORDS:
        types.argument(name, "")
    modules = modules_of(found, types)
    if options.list:
        for module in modules:
            print(f"{module.name}: {len(module.table)} functions; left out: {module.left_out}")
        return 0
    write_all(modules, types, options.python, options.cpp)
    return 0


if __name__ == "__main__":
    sys.exit(main())
