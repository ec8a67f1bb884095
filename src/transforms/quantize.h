#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// An op of the main block whose weight, its operand `weight`, depends on parameters alone, and
// which can compute with a weight of i8; or the operand of a loop, which is a parameter that can be
// stored as i8.
struct QuantizableOp {
  enum class Kind : std::uint8_t { product, convolution, lookup, loop };
  Kind kind = Kind::product;
  std::size_t position = 0;  // in the main block
  int input = 0, weight = 1;
  int weight_axis = 0;  // along which the weight has a scale for each index
  int result_axis = 0;  // the same axis in the result
};
// In the order of the block.
std::vector<QuantizableOp> find_quantizable(const ir::Program& program);

// How one op computes with bytes. Names are those of parameters of the Program.
struct QuantizedOperands {
  // Of the input: bytes are x / input_scale, rounded, and u8 if is_unsigned, else i8. 0 for
  // lookups, loops, and weights alone: the input stays as it is.
  float input_scale = 0;
  bool is_unsigned = false;
  std::string weight;  // i8, in the shape of the weight
  std::string scale;   // f32 [channels]: the factor of the sums of products of bytes
  std::string bias;    // f32 [channels], added to the result; empty: none
};

// Replaces ops by ones that compute with bytes; `ops` are some of those that find_quantizable() has
// found. The same input with the same scale becomes bytes once.
void quantize_ops(ir::Program& program,
                  const std::vector<std::pair<QuantizableOp, QuantizedOperands>>& ops);

}  // namespace trireme::transforms
