#pragma once

#include "ops/common.h"

namespace trireme::ops {

// The gradient of maximum(a, b) or minimum(a, b). Equal elements get half of it each. If one of the
// two is a number, it gets all of it: so relu and clamp have gradient 0 at their ends.
void extremum_of_two_gradient(GradientContext& c, bool is_maximum);

}  // namespace trireme::ops
