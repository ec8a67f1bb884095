#pragma once

#include "compiler/lower.h"

namespace trireme::compiler {

// A kernel that copies `elements` of storage `from`, of type `narrow`, to storage `to`, which is f32.
LoweredGroup widen(int from, DType narrow, int to, const Dim& elements,
                   const codegen::Target& target);

}  // namespace trireme::compiler
