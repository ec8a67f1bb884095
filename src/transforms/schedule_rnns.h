#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Makes packed_rnn of each rnn in the main block. Its rows are put in the order of time; what does not
// depend on a memory and is dear to compute is computed before it, for all steps at once; what no memory
// depends on, behind it. Sums over all steps of products over the rows of a step, as the gradients of
// weights, become one product over all rows. What nobody needs is left out.
void schedule_rnns(ir::Program& program);

}  // namespace trireme::transforms
