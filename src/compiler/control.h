#pragma once

#include <functional>
#include <memory>

#include "ir/program.h"
#include "plan/plan.h"

namespace trireme::compiler {

// Returns the control part of the step for an op with blocks. `compile` makes a Plan of each block.
plan::Control control_of(
    const ir::Op& op,
    const std::function<std::shared_ptr<const plan::Plan>(const ir::Block&)>& compile);

}  // namespace trireme::compiler
