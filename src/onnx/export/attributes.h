#pragma once

// The attributes and types of ops, as the exporters of ops read them.

#include <cstdint>
#include <numeric>
#include <vector>

#include "base/attributes.h"
#include "ir/program.h"

namespace trireme::onnx {

using Integers = std::vector<std::int64_t>;
inline constexpr std::int64_t kFarEnd = std::int64_t{1} << 62;  // beyond the end of every axis

inline const Integers& integers_of(const ir::Op& op, const char* name) {
  return get_attribute<Integers>(op.attributes, name);
}
inline std::int64_t integer_of(const ir::Op& op, const char* name) {
  return get_attribute<std::int64_t>(op.attributes, name);
}
inline double number_of(const ir::Op& op, const char* name) {
  return get_attribute<double>(op.attributes, name);
}
inline bool flag(const ir::Op& op, const char* name) {
  return get_attribute<bool>(op.attributes, name);
}
inline const ir::Type& type_of(const ir::Op& op, std::size_t operand) {
  return op.operands[operand]->type;
}
inline std::int64_t from_front(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}
// The attribute `axis`, counted from the front.
inline std::int64_t axis_of(const ir::Op& op) {
  return from_front(integer_of(op, "axis"), type_of(op, 0).shape.size());
}
// The axes of a reduction; all without a list.
Integers reduced_axes(const ir::Op& op);

}  // namespace trireme::onnx
