#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trireme/export.h"

namespace trireme {

// Element types. `boolean` is stored as one byte, 0 or 1. bf16 (8 exponent bits, 7 fraction bits)
// and f16 (5 and 10, binary16 of IEEE 754) are storage formats: cast to f32 for arithmetic.
enum class DType : std::uint8_t { boolean, u8, i32, i64, f32, f64, bf16, f16 };

inline constexpr DType boolean = DType::boolean;
inline constexpr DType u8 = DType::u8;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i64 = DType::i64;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f16 = DType::f16;

TRIREME_API std::size_t size_of(DType dtype);       // bytes per element
TRIREME_API std::string_view name_of(DType dtype);  // "f32"
TRIREME_API bool parse_dtype(std::string_view name, DType* dtype);

constexpr bool is_float(DType t) { return t == DType::f32 || t == DType::f64; }
constexpr bool is_half(DType t) { return t == DType::bf16 || t == DType::f16; }  // storage only
constexpr bool is_integer(DType t) { return t == DType::u8 || t == DType::i32 || t == DType::i64; }

// The DType of a C++ type: dtype_of<float> is f32.
template <class T>
inline constexpr DType dtype_of = [] {
  if constexpr (sizeof(T) == 1 && static_cast<T>(-1) == static_cast<T>(1)) return DType::boolean;
  else if constexpr (sizeof(T) == 1) return DType::u8;
  else if constexpr (static_cast<T>(0.5) == static_cast<T>(0)) {
    return sizeof(T) == 4 ? DType::i32 : DType::i64;
  } else {
    return sizeof(T) == 4 ? DType::f32 : DType::f64;
  }
}();

}  // namespace trireme
