#include "kernels/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace trireme::kernels {

Sizes numbers(const Call& call, const std::string& name, std::size_t count,
              std::int64_t otherwise) {
  const auto found = call.numbers.find(name);
  if (found == call.numbers.end()) return Sizes(count, otherwise);
  const Sizes& values = found->second;
  if (values.size() == count) return values;
  if (values.size() == 1) return Sizes(count, values[0]);
  fail_internal(
      fmt::format("kernels: '{}' has {} numbers instead of 1 or {}", name, values.size(), count));
}

bool flag(const Call& call, const std::string& name) { return numbers(call, name, 1, 0)[0] != 0; }

std::string text(const Call& call, const std::string& name) {
  const auto found = call.texts.find(name);
  return found == call.texts.end() ? std::string() : found->second;
}

std::size_t axis_of(const char* kernel, const Call& call) {
  const auto rank = static_cast<std::int64_t>(call.tensors.back().shape.size());
  const std::int64_t axis = numbers(call, "axis", 1, -1)[0];
  if (axis < -rank || axis >= rank) fail_call(kernel, call, "there is no such axis");
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::int64_t elements(const Sizes& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

void fail_call(const char* kernel, const Call& call, const std::string& why) {
  std::string shapes;
  for (const TensorDescription& tensor : call.tensors) {
    shapes += fmt::format("{}{}[{}]", shapes.empty() ? "" : ", ", name_of(tensor.dtype),
                          fmt::join(tensor.shape, ", "));
  }
  fail_internal(fmt::format("{}({}): {}", kernel, shapes, why));
}

void require_tensors(const char* kernel, const Call& call, std::size_t count) {
  if (call.tensors.size() != count) {
    fail_call(kernel, call, fmt::format("takes {} tensors", count));
  }
}

}  // namespace trireme::kernels
