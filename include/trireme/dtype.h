#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "trireme/export.h"

namespace trireme {

// Element types. `boolean` is stored as one byte, 0 or 1. bf16 (8 exponent bits, 7 fraction bits)
// and f16 (5 and 10, binary16 of IEEE 754) are storage formats: cast to f32 for arithmetic.
// Arithmetic of integers wraps.
enum class DType : std::uint8_t {
  boolean,
  u8,
  i32,
  i64,
  f32,
  f64,
  bf16,
  f16,
  i8,
  i16,
  u16,
  u32,
  u64
};

inline constexpr DType boolean = DType::boolean;
inline constexpr DType u8 = DType::u8;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i64 = DType::i64;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f16 = DType::f16;
inline constexpr DType i8 = DType::i8;
inline constexpr DType i16 = DType::i16;
inline constexpr DType u16 = DType::u16;
inline constexpr DType u32 = DType::u32;
inline constexpr DType u64 = DType::u64;

// The properties of a DType.
struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t size;  // bytes per element
  enum class Kind : std::uint8_t { boolean, integer, floating } kind;
  bool has_arithmetic;  // false: ops only store and move the numbers
  // The range in which every integer can be stored exactly.
  double lowest_integer, highest_integer;
};

// All DTypes, in the order of their values.
inline constexpr std::array<DTypeInfo, 13> kDTypes = {{
    {boolean, "boolean", 1, DTypeInfo::Kind::boolean, true, 0, 1},
    {u8, "u8", 1, DTypeInfo::Kind::integer, true, 0, 255},
    {i32, "i32", 4, DTypeInfo::Kind::integer, true, -2147483648.0, 2147483647.0},
    {i64, "i64", 8, DTypeInfo::Kind::integer, true, -9223372036854775808.0, 9223372036854774784.0},
    {f32, "f32", 4, DTypeInfo::Kind::floating, true, -16777216.0, 16777216.0},
    {f64, "f64", 8, DTypeInfo::Kind::floating, true, -9007199254740992.0, 9007199254740992.0},
    {bf16, "bf16", 2, DTypeInfo::Kind::floating, false, -256.0, 256.0},
    {f16, "f16", 2, DTypeInfo::Kind::floating, false, -2048.0, 2048.0},
    {i8, "i8", 1, DTypeInfo::Kind::integer, true, -128, 127},
    {i16, "i16", 2, DTypeInfo::Kind::integer, true, -32768, 32767},
    {u16, "u16", 2, DTypeInfo::Kind::integer, true, 0, 65535},
    {u32, "u32", 4, DTypeInfo::Kind::integer, true, 0, 4294967295.0},
    {u64, "u64", 8, DTypeInfo::Kind::integer, true, 0, 18446744073709549568.0},
}};

constexpr const DTypeInfo& info_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
constexpr std::size_t size_of(DType dtype) { return info_of(dtype).size; }
constexpr std::string_view name_of(DType dtype) { return info_of(dtype).name; }
// Sets `dtype` to the one called `name`; false if there is none.
TRIREME_API bool parse_dtype(std::string_view name, DType* dtype);

// f32, f64, bf16 and f16.
constexpr bool is_float(DType dtype) { return info_of(dtype).kind == DTypeInfo::Kind::floating; }
// bf16 and f16.
constexpr bool is_half(DType dtype) { return is_float(dtype) && !info_of(dtype).has_arithmetic; }
// f32 and f64.
constexpr bool is_arithmetic_float(DType dtype) {
  return is_float(dtype) && info_of(dtype).has_arithmetic;
}
constexpr bool is_integer(DType dtype) { return info_of(dtype).kind == DTypeInfo::Kind::integer; }
// boolean and the integers without a sign.
constexpr bool is_unsigned(DType dtype) {
  return !is_float(dtype) && info_of(dtype).lowest_integer == 0;
}

namespace detail {
template <class T>
struct DTypeOf;  // undefined: a Tensor cannot hold elements of type T
template <>
struct DTypeOf<bool> : std::integral_constant<DType, boolean> {};
template <>
struct DTypeOf<std::uint8_t> : std::integral_constant<DType, u8> {};
template <>
struct DTypeOf<std::int32_t> : std::integral_constant<DType, i32> {};
template <>
struct DTypeOf<std::int64_t> : std::integral_constant<DType, i64> {};
template <>
struct DTypeOf<std::int8_t> : std::integral_constant<DType, i8> {};
template <>
struct DTypeOf<std::int16_t> : std::integral_constant<DType, i16> {};
template <>
struct DTypeOf<std::uint16_t> : std::integral_constant<DType, u16> {};
template <>
struct DTypeOf<std::uint32_t> : std::integral_constant<DType, u32> {};
template <>
struct DTypeOf<std::uint64_t> : std::integral_constant<DType, u64> {};
template <>
struct DTypeOf<float> : std::integral_constant<DType, f32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, f64> {};
}  // namespace detail

// The DType of a C++ type: dtype_of<float> is f32. Does not compile for a type that has none.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::value;

}  // namespace trireme
