#pragma once

#include <cstdint>
#include <string>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/shape.h"

namespace trireme {

// A table of all parameters with name, type, number of elements and initializer, and a total.
TRIREME_API std::string parameter_table(const Program& program);

// Number of elements of all trainable parameters.
TRIREME_API std::int64_t trainable_elements(const Program& program);

// Floating-point operations of all ops of the main block, each counted once. A multiply-add of a
// matrix product or convolution counts 2; other arithmetic ops count 1 for each element.
TRIREME_API double count_flops(const Program& program, const SymbolSizes& sizes);

// Facts about the build and the machine, one "name: value" per line.
TRIREME_API std::string system_information();

}  // namespace trireme
