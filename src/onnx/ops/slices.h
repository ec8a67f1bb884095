#pragma once

#include <cstdint>

#include "onnx/node.h"
#include "trireme/program.h"
#include "trireme/shape.h"

namespace trireme::onnx {

// A bound after the end of every axis.
inline constexpr std::int64_t kEnd = std::int64_t{1} << 61;

// Elements begin to end of an axis, all inside it.
Value part_of(const Value& x, int axis, const Dim& begin, const Dim& end);

// The axes in their order, with one of them moved.
Value move_axis(const Value& x, int from, int to);

// x[start:end:step] of Python along an axis. Bounds of an axis of symbolic size must lie inside it
// for all sizes. Errors: Unsupported.
Value sliced(const NodeContext& n, const Value& x, int axis, const Dim& start, const Dim& end,
             std::int64_t step);

}  // namespace trireme::onnx
