#pragma once

#include <nanobind/nanobind.h>

#include "values.h"

namespace trireme::python {

namespace nb = nanobind;

// self[items]: integers, ranges, None, ..., and one list of integers. Errors: usage.
nb::object index_of(nb::handle self, nb::handle items);
void add_methods(nb::class_<HeldValue>& type);

}  // namespace trireme::python
