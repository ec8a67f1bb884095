#pragma once

#include <cstdint>
#include <string>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/shape.h"

namespace trireme {

// Name, type, elements and initializer of every parameter, as a table with a total.
TRIREME_API std::string parameter_table(const Program& program);

// Elements of all trainable parameters.
TRIREME_API std::int64_t trainable_elements(const Program& program);

// Floating-point operations of all ops of the main block, once each: 2 for each multiplication with
// addition of products and convolutions, 1 for each element of everything else that computes.
TRIREME_API double count_flops(const Program& program, const SymbolSizes& sizes);

// What there is to know of the build and the machine, one "name: value" a line.
TRIREME_API std::string system_information();

}  // namespace trireme
