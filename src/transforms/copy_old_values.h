#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Copies the values of parameters that are needed after an assign replaces them: of reads by views,
// which share the parameter's memory, and by functions of one operand, which simplify() moves to
// their users. Other ops read a parameter at their own place. Run it before transforms that move
// reads.
void copy_old_values(ir::Program& program);

}  // namespace trireme::transforms
