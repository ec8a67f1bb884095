#pragma once

#include <nanobind/nanobind.h>

#include "trireme/tensor.h"

namespace trireme::python {

// A Tensor of the memory of an array: of NumPy, or of anything that supports the buffer protocol or
// DLPack. A read-only array stays read-only, because a Session does not write to feeds. An array
// that is not contiguous, or has another byte order, is copied by NumPy first. A number becomes a
// scalar. Errors: usage, for other objects and dtypes that Trireme lacks.
Tensor tensor_of(const nanobind::handle& object);

// A NumPy array of the memory of a Tensor, which the array keeps.
nanobind::object array_of(const Tensor& tensor);

}  // namespace trireme::python
