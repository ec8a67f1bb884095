#pragma once

#include "compiler/lower.h"

namespace trireme::compiler {

// Returns a kernel that copies `elements` of storage `from`, of type `narrow`, to the f32 storage
// `to`.
LoweredGroup widen(int from, DType narrow, int to, const Dim& elements,
                   const codegen::Target& target);

}  // namespace trireme::compiler
