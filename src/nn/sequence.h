#pragma once

#include "nn/layer.h"

namespace trireme::nn {

// Error(usage) naming `layer` unless x is [batch, steps, width] with a constant width.
void require_sequence(Layer& layer, const Value& x);

}  // namespace trireme::nn
