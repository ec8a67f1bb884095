#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Replaces products of matrices with a single column, or with an inner dimension of 1, by
// multiplications and sums. Such products read or write about as much as they compute, and the
// replacements are fused with the ops around them. Sums are then added in another order.
void widen_thin_products(ir::Program& program);

}  // namespace trireme::transforms
