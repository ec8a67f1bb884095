#include "kernels/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/attributes.h"
#include "base/error.h"

namespace trireme::kernels {

namespace {

[[noreturn]] void fail_kind(const std::string& name, const Attribute& value, const char* wanted) {
  fail_internal(
      fmt::format("kernels: attribute '{}' is a {}, read as {}", name, kind_of(value), wanted));
}

Sizes integers_of(const std::string& name, const Attribute& value) {
  if (const auto* one = std::get_if<std::int64_t>(&value)) return {*one};
  if (const auto* several = std::get_if<Sizes>(&value)) return *several;
  const auto* shape = std::get_if<Shape>(&value);
  if (shape != nullptr && is_constant(*shape)) return evaluate(*shape, {});
  fail_kind(name, value, "integers");
}

}  // namespace

Sizes integers(const Call& call, const std::string& name, std::size_t count,
               std::int64_t otherwise) {
  const Attribute* value = find_attribute(call.attributes, name);
  if (value == nullptr) return Sizes(count, otherwise);
  Sizes values = integers_of(name, *value);
  if (values.size() == count) return values;
  if (values.size() == 1) return Sizes(count, values[0]);
  fail_internal(
      fmt::format("kernels: '{}' has {} numbers instead of 1 or {}", name, values.size(), count));
}

Sizes integers(const Call& call, const std::string& name) {
  const Attribute* value = find_attribute(call.attributes, name);
  return value == nullptr ? Sizes() : integers_of(name, *value);
}

std::int64_t integer(const Call& call, const std::string& name, std::int64_t otherwise) {
  return integers(call, name, 1, otherwise)[0];
}

bool flag(const Call& call, const std::string& name) {
  const Attribute* value = find_attribute(call.attributes, name);
  if (value == nullptr) return false;
  if (const bool* is_set = std::get_if<bool>(value)) return *is_set;
  // Compiled models of Trireme 0.1 have [0] or [1].
  if (const auto* list = std::get_if<Sizes>(value); list != nullptr && list->size() == 1) {
    return list->front() != 0;
  }
  fail_kind(name, *value, "bool");
}

double number(const Call& call, const std::string& name, double otherwise) {
  const Attribute* value = find_attribute(call.attributes, name);
  if (value == nullptr) return otherwise;
  const double* typed = std::get_if<double>(value);
  if (typed == nullptr) fail_kind(name, *value, "float");
  return *typed;
}

std::string text(const Call& call, const std::string& name) {
  const Attribute* value = find_attribute(call.attributes, name);
  if (value == nullptr) return "";
  const std::string* typed = std::get_if<std::string>(value);
  if (typed == nullptr) fail_kind(name, *value, "string");
  return *typed;
}

std::size_t axis_of(const char* kernel, const Call& call) {
  const auto rank = static_cast<std::int64_t>(call.tensors.back().shape.size());
  const std::int64_t axis = integer(call, "axis", -1);
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
