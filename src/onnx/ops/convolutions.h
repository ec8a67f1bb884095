#pragma once

#include <cstdint>

#include "onnx/node.h"
#include "onnx/ops/windows.h"
#include "trireme/program.h"

namespace trireme::onnx {

// The convolution of [batch, channels, ...] with one to three spatial axes. Errors: Unsupported.
Value convolution(const NodeContext& n, Value x, Value weight, Windows windows,
                  std::int64_t groups);

}  // namespace trireme::onnx
