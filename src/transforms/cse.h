#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Merges ops that compute the same: equal name, operands and attributes. Reads of a parameter are
// equal if no assign is between them. Random ops and side effects stay unchanged.
void merge_equal(ir::Program& program);

}  // namespace trireme::transforms
