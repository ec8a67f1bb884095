#pragma once

#include "compiler/lower.h"

namespace trireme::compiler {

// The kernel of a group with winograd_conv2d: an iteration makes some rows of tiles of an image, for
// some channels of the result. It brings its part of x into the form in which products are made one
// by one, multiplies 16 matrices of tiles by channels, and brings the sums back.
LoweredGroup lower_winograd(const Group& group, const std::vector<Output>& outputs,
                            const Storages& storages, const codegen::Target& target);

}  // namespace trireme::compiler
