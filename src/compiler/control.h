#pragma once

#include <functional>
#include <memory>

#include "ir/program.h"
#include "plan/plan.h"

namespace trireme::compiler {

// What a step does for an op with blocks, each of which `compile` makes a Plan of.
plan::Control control_of(
    const ir::Op& op,
    const std::function<std::shared_ptr<const plan::Plan>(const ir::Block&)>& compile);

}  // namespace trireme::compiler
