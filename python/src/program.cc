// Program, Value and scopes.

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "location.h"
#include "methods.h"
#include "module.h"
#include "trireme/error.h"
#include "trireme/functions.h"
#include "values.h"

namespace trireme::python {

namespace {

// The operands of a binary operator; empty if Python should try the other object's operator.
std::vector<Operand> operands_of(nb::handle a, nb::handle b) {
  const SourceLocation where = caller();
  std::vector<Operand> operands;
  if (!read(a, where, operands) || !read(b, where, operands)) return {};
  return operands;
}

nb::object apply(const char* op, nb::handle a, nb::handle b) {
  const KeepRecording kept;
  const std::vector<Operand> operands = operands_of(a, b);
  // Python then tries the operator of the other object, and raises TypeError if it has none.
  if (operands.empty()) return nb::borrow(Py_NotImplemented);
  return to_python(emit(op, operands, {}, operands[0].where())[0]);
}

// Adds a method that applies an op to a Value and another operand, and one that applies it with the
// operands exchanged; null: not.
void add_operator(nb::class_<HeldValue>& type, const char* method, const char* swapped,
                  const char* op) {
  const auto signature = [](const char* name) {
    return "def " + std::string(name) + "(self, other: Value | float, /) -> Self";
  };
  if (method != nullptr) {
    type.def(
        method, [op](nb::handle a, nb::handle b) { return apply(op, a, b); },
        nb::sig(signature(method).c_str()));
  }
  if (swapped != nullptr) {
    type.def(
        swapped, [op](nb::handle a, nb::handle b) { return apply(op, b, a); },
        nb::sig(signature(swapped).c_str()));
  }
}

// For notebooks.
nb::object html_of(const char* function, nb::handle self) {
  return nb::module_::import_("trireme.notebook").attr(function)(self);
}

[[noreturn]] void fail_truth(const HeldValue& held) {
  throw Error(ErrorKind::usage,
              held.value().str() +
                  " has no truth value: it is computed when a Session runs the Program\n"
                  "  hint   use trireme.where(condition, a, b) or trireme.cond()");
}

void add_value(nb::module_& m) {
  nb::class_<HeldValue> type(m, "Value",
                             "A value of a Program: an input, a parameter or a result.");
  type.def_prop_ro("dtype", [](const HeldValue& held) { return held.value().dtype(); })
      .def_prop_ro(
          "shape", [](const HeldValue& held) { return nb::tuple(to_python(held.value().shape())); },
          nb::sig("def shape(self) -> tuple[int | str, ...]"))
      .def_prop_ro("ndim", [](const HeldValue& held) { return held.value().rank(); })
      .def_prop_ro("name", [](const HeldValue& held) { return held.value().name(); })
      .def_prop_ro("program", [](const HeldValue& held) { return held.program(); })
      .def("__repr__", [](const HeldValue& held) { return held.value().str(); })
      .def(
          "_repr_html_", [](nb::handle self) { return html_of("value_html", self); },
          nb::sig("def _repr_html_(self) -> str"))
      .def("__hash__",
           [](const HeldValue& held) { return std::hash<const void*>()(held.value().get()); })
      .def(
          "__getitem__", [](nb::handle self, nb::handle items) { return index_of(self, items); },
          nb::arg("items").none(), nb::sig("def __getitem__(self, items: Any, /) -> Self"),
          "The part that indices select, as in NumPy: integers, ranges, None, ..., and one Value "
          "of "
          "integers.")
      .def("__bool__", [](const HeldValue& held) -> bool { fail_truth(held); })
      .def(
          "__neg__",
          [](const HeldValue& held) {
            const SourceLocation where = caller();
            return to_python(emit("neg", {Operand(held.value(), where)}, {}, where)[0]);
          },
          nb::sig("def __neg__(self) -> Self"));
  add_operator(type, "__add__", "__radd__", "add");
  add_operator(type, "__sub__", "__rsub__", "sub");
  add_operator(type, "__mul__", "__rmul__", "mul");
  add_operator(type, "__truediv__", "__rtruediv__", "div");
  add_operator(type, "__pow__", "__rpow__", "pow");
  add_operator(type, "__lt__", nullptr, "less");
  add_operator(type, "__le__", nullptr, "less_equal");
  add_operator(type, nullptr, "__gt__", "less");
  add_operator(type, nullptr, "__ge__", "less_equal");
  add_operator(type, "__eq__", nullptr, "equal");
  add_operator(type, "__ne__", nullptr, "not_equal");
  add_operator(type, "__mod__", "__rmod__", "floor_mod");
  add_methods(type);
}

// A scope as a context manager.
struct ScopeGuard {
  Program program;
  std::string name;
  bool shared;
  std::optional<Program::Scope> open;
};

void add_scope(nb::module_& m) {
  nb::class_<ScopeGuard>(m, "Scope")
      .def("__enter__",
           [](ScopeGuard& guard) {
             if (guard.open) throw Error(ErrorKind::usage, "this scope is open already");
             guard.open.emplace(guard.shared ? guard.program.shared_scope(guard.name)
                                             : guard.program.scope(guard.name));
           })
      .def(
          "__exit__", [](ScopeGuard& guard, const nb::args&) { guard.open.reset(); },
          nb::sig("def __exit__(self, *args: Any) -> None"));
}

ScopeGuard guard_of(const Program& program, std::string name, bool shared) {
  return {Program(program.shared_ir()), std::move(name), shared, std::nullopt};
}

nb::object input(Program& program, const std::string& name, nb::handle dtype, nb::handle shape,
                 int levels) {
  nb::dict given;
  given["dtype"] = dtype;
  given["shape"] = shape;
  const Call call("Program.input", given, caller());
  const auto type = call.get<DType>("dtype");
  auto dims = call.get<Shape>("shape");
  if (levels == 0) return to_python(program.input(name, type, std::move(dims), call.where()));
  if (levels < 0 || static_cast<std::size_t>(levels) > dims.size()) {
    throw Error(ErrorKind::usage, "Program.input: levels is " + std::to_string(levels) +
                                      ", and the shape has " + std::to_string(dims.size()) +
                                      " dimensions\n  hint   one dimension for each level, "
                                      "(\"batch\",) for one, then the shape of a row");
  }
  Shape row(dims.begin() + levels, dims.end());
  dims.resize(static_cast<std::size_t>(levels));
  return to_python(
      program.input(name, type, ragged(std::move(dims), std::move(row)), call.where()));
}

nb::object parameter(Program& program, const std::string& name, nb::handle shape,
                     const nb::kwargs& options) {
  nb::dict given;
  given.update(options);
  given["shape"] = shape;
  const Call call("Program.parameter", given, caller());
  ParameterOptions made;
  DType dtype = f32;
  call.set("dtype", dtype);
  call.set("initializer", made.initializer);
  call.set("trainable", made.trainable);
  call.set("settings", made.settings);
  return to_python(program.parameter(name, dtype, call.get<Shape>("shape"), made, call.where()));
}

int configure(Program& program, const std::string& pattern, const nb::kwargs& settings) {
  ParameterSettings made;
  const Call call("Program.configure", settings, caller());
  call.set("learning_rate", made.learning_rate);
  call.set("weight_decay", made.weight_decay);
  call.set("l1", made.l1);
  call.set("l2", made.l2);
  call.set("frozen", made.frozen);
  return program.configure(pattern, made);
}

}  // namespace

void add_program(nb::module_& m) {
  add_value(m);
  add_scope(m);
  nb::class_<Initializer>(m, "Initializer", "How a parameter gets its first value.")
      .def("__repr__", [](const Initializer& made) { return made.name + "(...)"; });
  nb::class_<Program>(m, "Program",
                      "A network, its parameters and, after minimize(), its training step.")
      .def(nb::init<std::string>(), nb::arg("name") = "main")
      .def_prop_ro("name", &Program::name)
      .def("input", input, nb::arg("name"), nb::arg("dtype"), nb::arg("shape"), nb::kw_only(),
           nb::arg("levels") = 0,
           nb::sig("def input(self, name: str, dtype: DType | str, shape: int | Sequence[int | "
                   "str], *, levels: int = 0) -> Value"),
           "An input that every run must feed. A dimension is an int or the name of a symbol. With "
           "levels, the first dimensions are those of sequences without padding.")
      .def("parameter", parameter, nb::arg("name"), nb::arg("shape"), nb::arg("options"),
           nb::sig("def parameter(self, name: str, shape: int | Sequence[int | str], *, dtype: "
                   "DType | str = ..., initializer: Initializer | None = None, trainable: bool = "
                   "True, settings: Any = None) -> Value"),
           "Mutable state: a weight, a running mean.")
      .def("configure", configure, nb::arg("pattern"), nb::arg("settings"),
           nb::sig("def configure(self, pattern: str, *, learning_rate: float = 1, weight_decay: "
                   "float = 1, l1: float = 0, l2: float = 0, frozen: bool = False) -> int"),
           "Changes the settings of the parameters whose names match; * matches any text.")
      .def(
          "scope",
          [](const Program& program, std::string name) {
            return guard_of(program, std::move(name), false);
          },
          nb::arg("name"), "with program.scope(name): layers are named name/...")
      .def(
          "shared_scope",
          [](const Program& program, std::string name) {
            return guard_of(program, std::move(name), true);
          },
          nb::arg("name"), "The same; a second time it uses the parameters of the first.")
      .def(
          "set_outputs",
          [](Program& program, nb::handle values) {
            std::vector<Value> outputs;
            if (!read(values, outputs)) {
              throw Error(ErrorKind::usage, "Program.set_outputs takes a list of Values");
            }
            program.set_outputs(outputs);
          },
          nb::arg("values"), nb::sig("def set_outputs(self, values: Sequence[Value]) -> None"))
      .def_prop_ro(
          "inputs", [](const Program& program) { return to_python(program.inputs()); },
          nb::sig("def inputs(self) -> list[Value]"))
      .def_prop_ro(
          "outputs", [](const Program& program) { return to_python(program.outputs()); },
          nb::sig("def outputs(self) -> list[Value]"))
      .def_prop_ro(
          "parameters", [](const Program& program) { return to_python(program.parameters()); },
          nb::sig("def parameters(self) -> list[Value]"))
      .def(
          "find",
          [](const Program& program, const std::string& name) {
            return to_python(program.find(name));
          },
          nb::arg("name"), nb::sig("def find(self, name: str) -> Value | None"),
          "An input or a parameter; None if there is none of this name.")
      .def("clone", &Program::clone)
      .def(
          "__eq__", [](const Program& a, const Program& b) { return &a.ir() == &b.ir(); },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const Program& program) { return std::hash<const void*>()(&program.ir()); })
      .def_static("parse", [](const std::string& text) { return Program::parse(text); })
      .def("__str__", &Program::str)
      .def(
          "_repr_html_", [](nb::handle self) { return html_of("program_html", self); },
          nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__", [](const Program& program) { return "<Program " + program.name() + ">"; });
}

}  // namespace trireme::python
