#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Sums that leave few numbers are made in two steps, the first of which has work for every thread,
// whatever their number. A sum over the batch and other axes, such as the gradient of a
// convolution's bias, becomes a sum within every example and one over the examples; a sum or mean
// of everything, such as a norm of gradients, one within rows or blocks of elements, and one over these.
void split_reductions(ir::Program& program);

}  // namespace trireme::transforms
