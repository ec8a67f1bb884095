#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Products of matrices with a single column, or with a single number to sum up, read or write about as much
// as they compute. They become multiplications and sums, which are fused with what is around them. Sums
// are then added in another order.
void widen_thin_products(ir::Program& program);

}  // namespace trireme::transforms
