#include "kernel_ir/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/half.h"

namespace trireme::kernel_ir {
namespace {

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

Scalar of_integer(DType type, std::int64_t value) { return {.integer = wrap(type, value)}; }
Scalar of_number(DType type, double value) { return {.number = rounded_to(type, value)}; }
bool holds_number(DType type) { return is_float(type); }
Scalar of_boolean(bool value) { return {.integer = value ? 1 : 0}; }

unsigned bits_of(DType type) {
  return type == DType::boolean ? 1 : static_cast<unsigned>(size_of(type)) * 8;
}

// The smallest and the largest integer of a type; that of u64 as its bits.
std::int64_t lowest(DType type) {
  return is_unsigned(type) ? 0 : std::numeric_limits<std::int64_t>::min() >> (64 - bits_of(type));
}
std::int64_t highest(DType type) {
  const unsigned unused = 64 - bits_of(type);
  return is_unsigned(type) ? static_cast<std::int64_t>(~0ull >> unused)
                           : std::numeric_limits<std::int64_t>::max() >> unused;
}

std::int64_t saturate(DType type, double x) {
  if (std::isnan(x)) return 0;
  x = std::trunc(x);
  if (x <= info_of(type).lowest_integer) return lowest(type);
  // One above the largest; for 64 bits, the largest itself is no double.
  const double end = std::ldexp(1.0, static_cast<int>(bits_of(type)) - !is_unsigned(type));
  if (x >= end) return highest(type);
  return type == DType::u64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(x))
                            : static_cast<std::int64_t>(x);
}

template <class T>
T float_of(DType type, std::int64_t integer) {
  return type == DType::u64 ? static_cast<T>(static_cast<std::uint64_t>(integer))
                            : static_cast<T>(integer);
}

Scalar convert(DType to, DType from, Scalar a) {
  if (to == DType::boolean) return of_boolean(holds_number(from) ? a.number != 0 : a.integer != 0);
  if (holds_number(to)) {
    if (holds_number(from)) return of_number(to, a.number);
    if (is_half(to)) return of_number(to, float_of<float>(from, a.integer));
    if (to == DType::f32) return {.number = static_cast<double>(float_of<float>(from, a.integer))};
    return {.number = float_of<double>(from, a.integer)};
  }
  if (holds_number(from)) return {.integer = saturate(to, a.number)};
  return of_integer(to, a.integer);
}

// The bits of a number as an integer, and back.
std::int64_t bits_in(DType type, Scalar a) {
  switch (type) {
    case DType::f32: return bits_as<std::int32_t>(static_cast<float>(a.number));
    case DType::f64: return bits_as<std::int64_t>(a.number);
    case DType::bf16: return to_bf16(static_cast<float>(a.number)).bits;
    case DType::f16: return to_f16(static_cast<float>(a.number)).bits;
    default: return a.integer;
  }
}

Scalar reinterpret(DType to, DType from, Scalar a) {
  const std::int64_t bits = bits_in(from, a);
  const auto half = static_cast<std::uint16_t>(bits);
  switch (to) {
    case DType::f32:
      return {.number = static_cast<double>(bits_as<float>(static_cast<std::int32_t>(bits)))};
    case DType::f64: return {.number = bits_as<double>(bits)};
    case DType::bf16: return {.number = static_cast<double>(to_float(Bf16{half}))};
    case DType::f16: return {.number = static_cast<double>(to_float(F16{half}))};
    default: return of_integer(to, bits);
  }
}

// Maths functions in the precision of T.
template <class T>
T function(ExprOp op, T x) {
  switch (op) {
    case ExprOp::sqrt: return std::sqrt(x);
    case ExprOp::floor: return std::floor(x);
    case ExprOp::ceil: return std::ceil(x);
    case ExprOp::round_even: return std::nearbyint(x);
    case ExprOp::trunc: return std::trunc(x);
    case ExprOp::exp: return std::exp(x);
    case ExprOp::log: return std::log(x);
    case ExprOp::tanh: return std::tanh(x);
    case ExprOp::sigmoid: return T(1) / (T(1) + std::exp(-x));
    case ExprOp::erf: return std::erf(x);
    case ExprOp::erfc: return std::erfc(x);
    case ExprOp::sin: return std::sin(x);
    case ExprOp::cos: return std::cos(x);
    case ExprOp::tan: return std::tan(x);
    case ExprOp::atan: return std::atan(x);
    case ExprOp::log1p: return std::log1p(x);
    case ExprOp::expm1: return std::expm1(x);
    default: fail_internal("kernel IR: this operation has no meaning for floats");
  }
}

template <class T>
T float_binary(ExprOp op, T a, T b) {
  switch (op) {
    case ExprOp::add: return a + b;
    case ExprOp::sub: return a - b;
    case ExprOp::mul: return a * b;
    case ExprOp::div: return a / b;
    case ExprOp::rem: return std::fmod(a, b);
    case ExprOp::min: return b < a || std::isnan(b) ? b : a;
    case ExprOp::max: return b > a || std::isnan(b) ? b : a;
    case ExprOp::pow: return std::pow(a, b);
    default: fail_internal("kernel IR: this operation has no meaning for floats");
  }
}

// The integers of a type in the order of T.
template <class T>
bool compare_integers(ExprOp op, T a, T b) {
  switch (op) {
    case ExprOp::eq: return a == b;
    case ExprOp::ne: return a != b;
    case ExprOp::lt: return a < b;
    default: return a <= b;
  }
}

bool compare(ExprOp op, DType argument, const Scalar* args) {
  if (is_arithmetic_float(argument)) {
    const double a = args[0].number;
    const double b = args[1].number;
    switch (op) {
      case ExprOp::eq: return a == b;
      case ExprOp::ne: return a != b;
      case ExprOp::lt: return a < b;
      default: return a <= b;
    }
  }
  const std::int64_t a = args[0].integer;
  const std::int64_t b = args[1].integer;
  if (argument != DType::u64) return compare_integers(op, a, b);
  return compare_integers(op, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
}

std::int64_t integer_binary(ExprOp op, DType type, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  const unsigned bits = bits_of(type);
  const std::uint64_t mask = ~0ull >> (64 - bits);
  if (type == DType::u64) {
    switch (op) {
      case ExprOp::div: return b == 0 ? 0 : static_cast<std::int64_t>(ua / ub);
      case ExprOp::rem: return b == 0 ? 0 : static_cast<std::int64_t>(ua % ub);
      case ExprOp::min: return ub < ua ? b : a;
      case ExprOp::max: return ub > ua ? b : a;
      default: break;
    }
  }
  switch (op) {
    case ExprOp::add: return static_cast<std::int64_t>(ua + ub);
    case ExprOp::sub: return static_cast<std::int64_t>(ua - ub);
    case ExprOp::mul: return static_cast<std::int64_t>(ua * ub);
    case ExprOp::div:
      if (b == 0) return 0;
      return b == -1 ? static_cast<std::int64_t>(0 - ua) : a / b;
    case ExprOp::rem: return b == 0 || b == -1 ? 0 : a % b;
    case ExprOp::min: return b < a ? b : a;
    case ExprOp::max: return b > a ? b : a;
    case ExprOp::bit_and: return a & b;
    case ExprOp::bit_or: return a | b;
    case ExprOp::bit_xor: return a ^ b;
    case ExprOp::shl: return static_cast<std::int64_t>(ua << (ub & (bits - 1)));
    case ExprOp::shr: return static_cast<std::int64_t>((ua & mask) >> (ub & (bits - 1)));
    default: fail_internal("kernel IR: this operation has no meaning for integers");
  }
}

Scalar unary(ExprOp op, DType type, Scalar a) {
  if (is_arithmetic_float(type)) {
    if (op == ExprOp::neg) return {.number = -a.number};
    if (op == ExprOp::abs) return {.number = std::fabs(a.number)};
    if (type == DType::f64) return {.number = function<double>(op, a.number)};
    return {.number = static_cast<double>(function<float>(op, static_cast<float>(a.number)))};
  }
  const std::uint64_t negated = 0 - static_cast<std::uint64_t>(a.integer);
  switch (op) {
    case ExprOp::neg: return of_integer(type, static_cast<std::int64_t>(negated));
    case ExprOp::abs:
      return a.integer < 0 && !is_unsigned(type)
                 ? of_integer(type, static_cast<std::int64_t>(negated))
                 : a;
    case ExprOp::logical_not: return of_boolean(a.integer == 0);
    case ExprOp::popcount: {
      const std::uint64_t mask = ~0ull >> (64 - bits_of(type));
      return {.integer = std::popcount(static_cast<std::uint64_t>(a.integer) & mask)};
    }
    default: fail_internal("kernel IR: this operation has no meaning for integers");
  }
}

// The sum of products of the four bytes of two words.
std::int64_t dot4(DType type, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const std::int64_t x = a >> shift, y = b >> shift;
    sum += wrap(type == DType::u32 ? DType::u8 : DType::i8, x) * wrap(DType::i8, y);
  }
  return sum;
}

// The same of the two halves.
std::int64_t dot2(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    sum += wrap(DType::i16, a >> shift) * wrap(DType::i16, b >> shift);
  }
  return sum;
}

Scalar binary(ExprOp op, DType type, const Scalar* args) {
  if (type == DType::f64) return {.number = float_binary(op, args[0].number, args[1].number)};
  if (type == DType::f32) {
    return {.number = static_cast<double>(float_binary(op, static_cast<float>(args[0].number),
                                                       static_cast<float>(args[1].number)))};
  }
  return of_integer(type, integer_binary(op, type, args[0].integer, args[1].integer));
}

}  // namespace

std::int64_t wrap(DType type, std::int64_t value) {
  switch (type) {
    case DType::boolean: return value & 1;
    case DType::u8: return static_cast<std::uint8_t>(value);
    case DType::i8: return static_cast<std::int8_t>(value);
    case DType::u16: return static_cast<std::uint16_t>(value);
    case DType::i16: return static_cast<std::int16_t>(value);
    case DType::u32: return static_cast<std::uint32_t>(value);
    case DType::i32: return static_cast<std::int32_t>(value);
    default: return value;
  }
}

double rounded_to(DType type, double value) {
  if (type == DType::f64) return value;
  const auto narrow = static_cast<float>(value);
  if (type == DType::bf16) return static_cast<double>(to_float(to_bf16(narrow)));
  if (type == DType::f16) return static_cast<double>(to_float(to_f16(narrow)));
  return static_cast<double>(narrow);
}

Scalar constant_of(const Expr& constant) { return {constant.integer, constant.number}; }

Scalar evaluate(ExprOp op, DType type, DType argument, const Scalar* args) {
  switch (op) {
    case ExprOp::cast: return convert(type, argument, args[0]);
    case ExprOp::bitcast: return reinterpret(type, argument, args[0]);
    case ExprOp::dot2: return of_integer(type, dot2(args[0].integer, args[1].integer));
    case ExprOp::dot4: return of_integer(type, dot4(argument, args[0].integer, args[1].integer));
    case ExprOp::eq:
    case ExprOp::ne:
    case ExprOp::lt:
    case ExprOp::le: return of_boolean(compare(op, argument, args));
    case ExprOp::select: return args[0].integer != 0 ? args[1] : args[2];
    case ExprOp::fma:
      if (type == DType::f64) {
        return {.number = std::fma(args[0].number, args[1].number, args[2].number)};
      }
      return {.number = static_cast<double>(std::fma(static_cast<float>(args[0].number),
                                                     static_cast<float>(args[1].number),
                                                     static_cast<float>(args[2].number)))};
    default: break;
  }
  if (argument_count(op) == 1) return unary(op, type, args[0]);
  if (argument_count(op) == 2) return binary(op, type, args);
  fail_internal("kernel IR: a leaf cannot be evaluated");
}

Scalar identity_of(ReduceOp reduce, DType type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (reduce) {
    case ReduceOp::sum: return {};
    case ReduceOp::prod: return {1, 1};
    case ReduceOp::min:
    case ReduceOp::argmin:
      if (is_arithmetic_float(type)) return {0, infinity};
      return {highest(type), 0};
    case ReduceOp::max:
    case ReduceOp::argmax:
      if (is_arithmetic_float(type)) return {0, -infinity};
      return {lowest(type), 0};
  }
  return {};
}

Scalar reduce_step(ReduceOp reduce, DType type, Scalar accumulator, Scalar value) {
  const Scalar args[2] = {accumulator, value};
  switch (reduce) {
    case ReduceOp::sum: return binary(ExprOp::add, type, args);
    case ReduceOp::prod: return binary(ExprOp::mul, type, args);
    case ReduceOp::min: return binary(ExprOp::min, type, args);
    case ReduceOp::max: return binary(ExprOp::max, type, args);
    default: return beats(reduce, type, value, accumulator) ? value : accumulator;
  }
}

bool beats(ReduceOp reduce, DType type, Scalar value, Scalar accumulator) {
  const bool greater = reduce == ReduceOp::argmax;
  if (!is_arithmetic_float(type)) {
    return greater ? value.integer > accumulator.integer : value.integer < accumulator.integer;
  }
  if (std::isnan(value.number)) return !std::isnan(accumulator.number);
  return greater ? value.number > accumulator.number : value.number < accumulator.number;
}

}  // namespace trireme::kernel_ir
