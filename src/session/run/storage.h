#pragma once

#include "trireme/dtype.h"
#include "trireme/precision.h"

namespace trireme {

// Returns the storage setting of the compiler for a Precision.
inline DType storage_of(Precision precision) {
  switch (precision) {
    case Precision::bf16: return DType::bf16;
    case Precision::f16: return DType::f16;
    default: return DType::f32;
  }
}

}  // namespace trireme
