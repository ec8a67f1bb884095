#pragma once

#include <string>

#include "trireme/dtype.h"
#include "trireme/shape.h"

namespace trireme::ir {

// What is known of a value before the Program runs. `ragged` names the ragged structure that the
// first dimension's rows are packed in ("" for dense values): values of different structure do not
// combine.
struct Type {
  DType dtype = DType::f32;
  Shape shape;
  std::string ragged;

  int rank() const { return static_cast<int>(shape.size()); }
  std::string str() const;  // "f32[batch, 10]", "i64[tokens] ragged(words)"
  friend bool operator==(const Type& a, const Type& b) {
    return a.dtype == b.dtype && a.shape == b.shape && a.ragged == b.ragged;
  }
};

}  // namespace trireme::ir
