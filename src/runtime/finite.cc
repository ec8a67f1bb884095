#include "runtime/finite.h"

#include <fmt/core.h>

#include <cmath>

#include "base/half.h"

namespace trireme::runtime {

namespace {

template <class T>
std::string scan_finite(const T* data, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(data[i])) return fmt::format("{} at element {} of {}", data[i], i, count);
  }
  return {};
}

template <class Half>
std::string scan_half(const Half* data, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = to_float(data[i]);
    if (!std::isfinite(value)) return fmt::format("{} at element {} of {}", value, i, count);
  }
  return {};
}

}  // namespace

std::string first_not_finite(DType dtype, const void* data, std::int64_t bytes) {
  if (dtype == DType::f32) return scan_finite(static_cast<const float*>(data), bytes / 4);
  if (dtype == DType::f64) return scan_finite(static_cast<const double*>(data), bytes / 8);
  if (dtype == DType::bf16) return scan_half(static_cast<const Bf16*>(data), bytes / 2);
  if (dtype == DType::f16) return scan_half(static_cast<const F16*>(data), bytes / 2);
  return {};
}

}  // namespace trireme::runtime
