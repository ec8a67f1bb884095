#pragma once

#include "ir/program.h"

namespace trireme::transforms {

struct PruneOptions {
  bool keep_side_effects = true;  // assigns, and what they need
  bool drop_inputs = false;       // inputs nobody reads
  bool drop_parameters = false;   // parameters nobody reads
};

// Drops every op that neither a result of the main block nor a kept side effect needs.
void prune(ir::Program& program, const PruneOptions& options);

}  // namespace trireme::transforms
