#pragma once

#include <nanobind/nanobind.h>

#include "trireme/data.h"

namespace trireme::python {

namespace nb = nanobind;

// Adds the augmentations of pictures to the class Dataset.
void add_augmentations(nb::class_<data::Dataset>& dataset);

}  // namespace trireme::python
