// Ops by name. The Python functions that tools/gen_python.py makes call this.

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "location.h"
#include "module.h"
#include "operands.h"
#include "shapes.h"
#include "trireme/program.h"

namespace trireme::python {

namespace {

// The value of an attribute of a kind of the catalog.
Attribute attribute_of(const std::string& kind, const nb::handle& value) {
  if (kind == "bool") return nb::cast<bool>(value);
  if (kind == "int") return nb::cast<std::int64_t>(value);
  if (kind == "float") return nb::cast<double>(value);
  if (kind == "string") return nb::cast<std::string>(value);
  if (kind == "ints") return nb::cast<std::vector<std::int64_t>>(value);
  if (kind == "floats") return nb::cast<std::vector<double>>(value);
  if (kind == "dtype") return nb::cast<DType>(value);
  return shape_of(nb::cast<std::vector<PyDim>>(value));
}

// (name, kind, value)
using PyAttribute = std::tuple<std::string, std::string, nb::object>;

std::vector<Value> emit_by_name(const std::string& op, const std::vector<PyOperand>& operands,
                                const std::vector<PyAttribute>& attributes) {
  const SourceLocation where = caller();
  std::vector<Operand> values;
  for (const PyOperand& operand : operands) values.push_back(operand_of(operand, where));
  Attributes named;
  for (const auto& [name, kind, value] : attributes) {
    named.push_back({name, attribute_of(kind, value)});
  }
  return emit(op, values, std::move(named), where);
}

}  // namespace

void add_functions(nb::module_& m) {
  m.def("emit", emit_by_name, nb::arg("op"), nb::arg("operands"), nb::arg("attributes"));
}

}  // namespace trireme::python
