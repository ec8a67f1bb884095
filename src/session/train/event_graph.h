#pragma once

#include <string>

#include "ir/program.h"

namespace trireme {

// The ops of a Program as a GraphDef of TensorFlow, which TensorBoard draws: a node for each input,
// parameter and op, "encoder/linear_0/matmul". A value of unknown size has -1 in its shape.
std::string graph_of(const ir::Program& program);

}  // namespace trireme
