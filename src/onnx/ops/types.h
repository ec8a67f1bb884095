#pragma once

#include <string>

#include "onnx/proto.h"
#include "trireme/program.h"

namespace trireme::onnx {

struct CastMode {
  bool saturate = true;         // to floats of 8 bits: the largest number, not infinity or NaN
  std::string rounding = "up";  // to f8e8m0: up, down or nearest
};

// The value of type `from` as one of type `to`, both in their carriers (onnx/tensor.h).
// Errors: Unsupported, for types without a carrier.
Value cast_to(const Value& x, ElementType from, ElementType to, const CastMode& mode = {});

}  // namespace trireme::onnx
