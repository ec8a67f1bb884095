#pragma once

#include "plan/plan.h"

namespace trireme::plan {

// Checks that the feeds and fetches of a step's blocks have the dtypes and shapes of its buffers,
// so that running them accesses no other memory. Error(internal) if not.
void verify_control(const Plan& plan, const Step& step);

}  // namespace trireme::plan
