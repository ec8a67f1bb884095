#pragma once

#include <functional>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// What a parameter was to become.
struct TakenAssign {
  ir::Value* parameter;
  ir::Value* value;
};

// Takes the assigns of the parameters for which `chosen` is true out of the main block: the caller assigns, later. What read
// such a parameter behind its assign reads the value instead. Each parameter once, in the order of their assigns;
// parameters that are assigned otherwise too, by rows, stay as they are.
std::vector<TakenAssign> take_assigns(ir::Program& program,
                                      const std::function<bool(const ir::Parameter&)>& chosen);

}  // namespace trireme::transforms
