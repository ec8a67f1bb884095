#pragma once

// Converts the 16-bit floats bf16 and f16, which are for storage, to float and back. To float is
// exact. Back rounds to nearest, ties to even. Numbers that are too large become infinity, and NaN
// stays NaN. Subnormal numbers lose bits gradually.

#include <bit>
#include <cmath>
#include <cstdint>

namespace trireme {

struct Bf16 {
  std::uint16_t bits = 0;
};
struct F16 {
  std::uint16_t bits = 0;
};

inline float to_float(Bf16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

inline Bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};  // and not infinity
  return {static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

inline float to_float(F16 x) {
  const std::uint32_t sign = std::uint32_t{x.bits} << 16 & 0x80000000u;
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  if (magnitude < 0x400) {  // in units of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  // The exponents are 112 apart; that of infinity and NaN is the largest in both.
  const std::uint32_t bias = magnitude < 0x7c00 ? 112u << 23 : 224u << 23;
  return std::bit_cast<float>(sign | ((magnitude << 13) + bias));
}

inline F16 to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000) {  // NaN
    result = 0x7e00 | (magnitude >> 13 & 0x3ff);
  } else if (magnitude >= 0x477ff000) {  // from 65520 on
    result = 0x7c00;
  } else if (magnitude < 0x38800000) {  // below 2^-14: 0.5 has a last bit of 2^-24
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  } else {
    result = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | result)};
}

}  // namespace trireme
