#pragma once

#include <string>

#include "trireme/dtype.h"
#include "trireme/shape.h"

namespace trireme::ir {

// What is known of a value before the Program runs. Sequences of different lengths are concatenated
// along the first dimension of a value; that dimension is a symbol of its own, such as `words`. An
// i64 value with `splits_of` = "words" holds their boundaries: sequence i is rows splits[i] to
// splits[i + 1]. Values with different structure have different dimensions and cannot be combined.
struct Type {
  DType dtype = DType::f32;
  Shape shape;
  std::string splits_of;  // "" if the value is not splits

  int rank() const { return static_cast<int>(shape.size()); }
  std::string str() const;  // "f32[batch, 10]", "i64[batch + 1] splits(words)"
  friend bool operator==(const Type& a, const Type& b) {
    return a.dtype == b.dtype && a.shape == b.shape && a.splits_of == b.splits_of;
  }
};

}  // namespace trireme::ir
