#pragma once

#include "compiler/lower.h"

namespace trireme::compiler {

// Lowers a group with winograd_conv2d. An iteration computes some rows of tiles of an image for
// some channels of the result. It transforms its part of x, multiplies 16 matrices of tiles by
// channels, and transforms the sums back.
LoweredGroup lower_winograd(const Group& group, const std::vector<Output>& outputs,
                            const Storages& storages, const codegen::Target& target);

}  // namespace trireme::compiler
