#pragma once

// The ops that read packed weights. They are appended to the main block of the Program.

#include <string>

#include "session/compress/packed_weight.h"
#include "trireme/program.h"

namespace trireme::compression {

// The parameters of a packed weight, "NAME.packed" and so on.
struct PackedParameters {
  Value words, scales, table;
};
PackedParameters add_parameters(Program& program, const std::string& name, const PackedTensor& p);

// The weight of that shape.
Value unpacked(const PackedParameters& from, const PackedTensor& p, const Shape& shape);

// Whether the weight has the numbers -scale and scale alone, so that bits can be counted.
bool is_binary(const PackedTensor& p);
// matmul(x, weight) for x [rows, in] of 1, where source >= 0, and -1: 32 products in each xor.
Value count_bits(const Value& source, const PackedParameters& from, const PackedTensor& p);

}  // namespace trireme::compression
