#pragma once

#include <vector>

#include "ops/common.h"

namespace trireme::ops {

// Makes an op on images [N, C, H, W] support the attribute `layout` = "nhwc" too. The rules that
// `op` has so far keep seeing images as [N, C, H, W], whatever the layout is. `operands` and
// `results` are the numbers of the images. The signature must have `layout: string = "nchw"`. For
// volumes [N, C, D, H, W], "nhwc" means [N, D, H, W, C].
void serve_both_layouts(Op& op, std::vector<int> operands, std::vector<int> results);

// Returns the type of an image of `op` as [N, C, H, W].
Type channels_first(const ir::Op& op, const Type& image);

}  // namespace trireme::ops
