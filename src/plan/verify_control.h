#pragma once

#include "plan/plan.h"

namespace trireme::plan {

// What steps with blocks promise: that the blocks' feeds and fetches have the forms of the step's buffers,
// so that running them touches no other memory. Error(internal) if not.
void verify_control(const Plan& plan, const Step& step);

}  // namespace trireme::plan
