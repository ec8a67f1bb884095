#pragma once

#include <string>

#include "trireme/dtype.h"
#include "trireme/shape.h"

namespace trireme::ir {

// What is known of a value before the Program runs. Sequences of different lengths lie behind each
// other in the first dimension of a value, which then is a symbol of its own, such as `words`. An
// i64 value with `splits_of` = "words" says where each begins and ends: sequence i is rows splits[i]
// to splits[i + 1]. Values of different structure so have different dimensions, and do not combine.
struct Type {
  DType dtype = DType::f32;
  Shape shape;
  std::string splits_of;  // "" for all values but splits

  int rank() const { return static_cast<int>(shape.size()); }
  std::string str() const;  // "f32[batch, 10]", "i64[batch + 1] splits(words)"
  friend bool operator==(const Type& a, const Type& b) {
    return a.dtype == b.dtype && a.shape == b.shape && a.splits_of == b.splits_of;
  }
};

}  // namespace trireme::ir
