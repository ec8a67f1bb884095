#pragma once

#include "ir/program.h"

namespace trireme::transforms {

struct PruneOptions {
  bool keep_side_effects = true;  // assigns and the ops they need
  bool drop_inputs = false;       // inputs that are not read
  bool drop_parameters = false;   // parameters that are not read
};

// Drops ops that neither a result of the main block nor a kept side effect needs.
void prune(ir::Program& program, const PruneOptions& options);

}  // namespace trireme::transforms
