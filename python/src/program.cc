// Program, Value and shapes: a dimension is an int, or the name of a symbol.

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <variant>
#include <vector>

#include "location.h"
#include "module.h"
#include "operands.h"
#include "shapes.h"
#include "trireme/program.h"

namespace trireme::python {

namespace {

using PyDims = std::vector<PyDim>;

Value apply(const char* op, const PyOperand& a, const PyOperand& b) {
  const SourceLocation where = caller();
  return emit(op, {operand_of(a, where), operand_of(b, where)}, {}, where)[0];
}

// Adds a method that applies an op to a Value and another operand, and the same with the operands
// exchanged if `swapped` has a name.
void add_operator(nb::class_<Value>& type, const char* method, const char* swapped,
                  const char* op) {
  const auto forward = [op](const Value& a, const PyOperand& b) { return apply(op, a, b); };
  const auto backward = [op](const Value& a, const PyOperand& b) { return apply(op, b, a); };
  type.def(method, forward, nb::is_operator());
  if (swapped != nullptr) type.def(swapped, backward, nb::is_operator());
}

void add_value(nb::module_& m) {
  nb::class_<Value> type(m, "Value", "A value of a Program: an input, a parameter or a result.");
  type.def_prop_ro("dtype", &Value::dtype)
      .def_prop_ro("shape",
                   [](const Value& value) { return nb::tuple(nb::cast(dims_of(value.shape()))); })
      .def_prop_ro("name", &Value::name)
      .def("__repr__", &Value::str)
      .def("__neg__", [](const Value& value) {
        const SourceLocation where = caller();
        return emit("neg", {Operand(value, where)}, {}, where)[0];
      });
  add_operator(type, "__add__", "__radd__", "add");
  add_operator(type, "__sub__", "__rsub__", "sub");
  add_operator(type, "__mul__", "__rmul__", "mul");
  add_operator(type, "__truediv__", "__rtruediv__", "div");
  add_operator(type, "__pow__", "__rpow__", "pow");
  add_operator(type, "__matmul__", nullptr, "matmul");
  add_operator(type, "__lt__", nullptr, "less");
  add_operator(type, "__le__", nullptr, "less_equal");
}

}  // namespace

void add_program(nb::module_& m) {
  add_value(m);
  nb::class_<Program>(m, "Program",
                      "A network, its parameters and, after minimize(), its training step.")
      .def(nb::init<std::string>(), nb::arg("name") = "main")
      .def_prop_ro("name", &Program::name)
      .def(
          "input",
          [](Program& program, const std::string& name, DType dtype, const PyDims& shape) {
            return program.input(name, dtype, shape_of(shape), caller());
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape"),
          "An input that every run must feed. A dimension is an int or the name of a symbol.")
      .def("set_outputs", &Program::set_outputs)
      .def_prop_ro("inputs", &Program::inputs)
      .def_prop_ro("outputs", &Program::outputs)
      .def_prop_ro("parameters", &Program::parameters)
      .def_static("parse", [](const std::string& text) { return Program::parse(text); })
      .def("__str__", &Program::str);
}

}  // namespace trireme::python
