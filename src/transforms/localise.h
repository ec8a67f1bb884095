#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Gives every user its own copy of what costs nothing to compute: constants, iota, sizes and
// broadcasts. Undoes for them what merge_equal() did, so that fusion finds them beside their users
// instead of storing them once for all.
void localise(ir::Program& program);

}  // namespace trireme::transforms
