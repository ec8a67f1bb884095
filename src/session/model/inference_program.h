#pragma once

#include <memory>
#include <vector>

#include "ir/program.h"
#include "trireme/program.h"

namespace trireme {

// A copy of the Program that computes the outputs, for inference, and nothing else. Errors: usage,
// beginning with `what`, for an output that is empty or of another Program.
std::unique_ptr<ir::Program> inference_program(const char* what, const Program& program,
                                               const std::vector<Value>& outputs);

// The same for training and inference, with running statistics and without the updates of
// optimizers.
std::unique_ptr<ir::Program> network_program(const char* what, const Program& program,
                                             const std::vector<Value>& outputs);

}  // namespace trireme
