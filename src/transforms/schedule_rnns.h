#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Replaces each rnn in the main block by packed_rnn. Its rows are put in the order of time.
// Expensive work that does not depend on a state is hoisted before the loop and done for all steps
// at once; work that no state depends on moves after it. Sums over all steps of products over the
// rows of a step, such as gradients of weights, become one product over all rows. Results that are
// not read are not computed.
void schedule_rnns(ir::Program& program);

}  // namespace trireme::transforms
