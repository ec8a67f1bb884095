#pragma once

#include <functional>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// A parameter and the value of its removed assignment.
struct TakenAssign {
  ir::Value* parameter;
  ir::Value* value;
};

// Removes the assigns of the parameters for which `chosen` returns true from the main block; the
// caller assigns later. Ops after such an assign read the value instead of the parameter. Returns
// each parameter once, in the order of the assigns. Parameters that are also assigned by rows stay
// unchanged.
std::vector<TakenAssign> take_assigns(ir::Program& program,
                                      const std::function<bool(const ir::Parameter&)>& chosen);

}  // namespace trireme::transforms
