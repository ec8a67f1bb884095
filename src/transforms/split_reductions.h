#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// A sum over the batch and other axes that leaves few numbers, such as the gradient of a
// convolution's bias, becomes a sum within every example and a sum over the examples: the first part
// then has work for every thread, whatever their number.
void split_reductions(ir::Program& program);

}  // namespace trireme::transforms
