#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Gives every user its own copy of ops that cost nothing: constants, iota, sizes and broadcasts.
// For these it undoes merge_equal(), so that fusion finds them next to their users instead of
// storing them once for all.
void duplicate_cheap_ops(ir::Program& program);

}  // namespace trireme::transforms
