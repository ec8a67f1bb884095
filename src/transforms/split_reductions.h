#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Splits sums with few results into two steps. The first step has work for every thread, whatever
// their number. A sum over the batch and other axes, such as the gradient of a convolution's bias,
// becomes a sum within every example and one over the examples. A sum or mean of all elements, such
// as a norm of gradients, becomes sums within rows or blocks of elements and one over these.
void split_reductions(ir::Program& program);

}  // namespace trireme::transforms
