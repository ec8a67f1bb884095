#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "trireme/shape.h"

namespace trireme::python {

// A dimension in Python: a size, or the text of a Dim such as "batch" or "2*batch + 1".
using PyDim = std::variant<std::int64_t, std::string>;

// Errors: usage, for a text that is no Dim.
Shape shape_of(const std::vector<PyDim>& dims);
std::vector<PyDim> dims_of(const Shape& shape);

}  // namespace trireme::python
