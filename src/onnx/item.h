#pragma once

// What a name of an ONNX graph stands for while the graph is imported.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onnx/proto.h"
#include "trireme/program.h"
#include "trireme/shape.h"
#include "trireme/tensor.h"

namespace trireme::onnx {

// An integer array of rank 0 or 1 whose elements are known up to the sizes of symbols, such as what
// Shape returns.
struct Sizes {
  bool is_scalar = false;
  Shape dims;
};

// A tensor, of which one of `known`, `sizes` and `value` holds the elements; or a sequence; or an
// optional, which is what it holds or `is_nothing`.
struct Item {
  enum class Kind { tensor, sequence } kind = Kind::tensor;
  ElementType type = ElementType::undefined;
  std::optional<Tensor> known;  // elements known now, in the carrier of `type`
  std::optional<Sizes> sizes;
  Value value;       // computed by the Program
  std::string name;  // of the initializer, for parameters
  std::vector<Item> elements;
  bool is_nothing = false;
  bool is_failed = false;  // its node could not be imported

  bool is_tensor() const { return kind == Kind::tensor && !is_nothing; }
};

}  // namespace trireme::onnx
