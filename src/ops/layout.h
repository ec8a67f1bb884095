#pragma once

#include <vector>

#include "ops/common.h"

namespace trireme::ops {

// Makes an op on images written for [N, C, H, W] serve attribute `layout` = "nhwc" as well: the
// rules given to `op` so far see the images as [N, C, H, W] whatever they are. `operands` and
// `results` name the images. The signature must have `layout: string = "nchw"`. Of volumes,
// [N, C, D, H, W], "nhwc" means [N, D, H, W, C].
void serve_both_layouts(Op& op, std::vector<int> operands, std::vector<int> results);

// The type of an image of `op` as [N, C, H, W].
Type channels_first(const ir::Op& op, const Type& image);

}  // namespace trireme::ops
