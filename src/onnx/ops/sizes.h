#pragma once

// Arithmetic with integers that depend on the sizes of symbols. All return false where a result
// has no form as a polynomial of symbols.

#include "onnx/node.h"

namespace trireme::onnx {

bool add_sizes(NodeContext& n);
bool subtract_sizes(NodeContext& n);
bool multiply_sizes(NodeContext& n);
bool divide_sizes(NodeContext& n);
bool compare_sizes(NodeContext& n);  // equality
bool choose_sizes(NodeContext& n);   // Where
bool keep_sizes(NodeContext& n);     // Identity
bool cast_sizes(NodeContext& n);

}  // namespace trireme::onnx
