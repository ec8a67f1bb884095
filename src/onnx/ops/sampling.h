#pragma once

// Reading images between their elements.

#include <string>
#include <vector>

#include "onnx/node.h"
#include "trireme/program.h"

namespace trireme::onnx {

struct Sampling {
  std::string mode = "linear";    // nearest, linear or cubic
  std::string padding = "zeros";  // zeros, border or reflection
  // The largest of the weighted elements instead of their sum, as RoiAlign's max has it.
  bool largest = false;
  bool align_corners = false;  // where reflection turns: at the elements, or half outside
};

// x [batch, channels, sizes...] at coordinates [batch, points], one Value for each axis, in
// elements: [batch, channels, points]. Sizes are constant. Errors: Unsupported.
Value sample(const NodeContext& n, const Value& x, const std::vector<Value>& coordinates,
             const Sampling& sampling);

}  // namespace trireme::onnx
