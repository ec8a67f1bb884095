#pragma once

// The operators that can be imported, one file for each kind. Each file has a list at its end.

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnx/node.h"

namespace trireme::onnx {

using Operators = std::span<const Operator>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

Operators elementwise_operators();
Operators type_operators();
Operators activation_operators();
Operators shape_operators();
Operators index_operators();
Operators reduction_operators();
Operators constant_operators();
Operators product_operators();
Operators control_operators();
Operators convolution_operators();
Operators pooling_operators();
Operators normalization_operators();
Operators recurrent_operators();
Operators quantization_operators();
Operators sequence_operators();
Operators loss_operators();
Operators attention_operators();
Operators spectral_operators();
Operators image_operators();
Operators selection_operators();
Operators classic_operators();
Operators tree_operators();
Operators support_vector_operators();

}  // namespace trireme::onnx
