#pragma once

#include "trireme/ops.h"
#include "trireme/optimizer.h"

namespace trireme::nn {

// The learning rate as a value of the Program, from the step as a scalar f64.
Value rate_at(const Schedule& schedule, const Value& step);

}  // namespace trireme::nn
