#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Merges ops that compute the same: equal name, operands and attributes, and for parameters, read
// between the same assigns. Random ops and side effects are left alone.
void merge_equal(ir::Program& program);

}  // namespace trireme::transforms
