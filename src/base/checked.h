#pragma once

// Arithmetic with numbers from outside: files, jobs, program texts and network frames.

#include <cstdint>
#include <optional>

namespace trireme {

// Returns the number without its fraction; nothing for NaN and for a number outside 64 bits, whose
// cast is undefined.
constexpr std::optional<std::int64_t> to_integer(double number) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(number >= -kLimit && number < kLimit)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

// A whole number, or invalid: a result that does not fit into 64 bits is invalid, and so is every
// result of an invalid number. So one test after a computation is enough.
class Checked {
 public:
  constexpr Checked(std::int64_t value) : value_(value) {}  // implicit, for literals
  constexpr bool valid() const { return valid_; }
  // Precondition: valid.
  constexpr std::int64_t value() const { return value_; }

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked result(0);
    result.valid_ = !__builtin_add_overflow(a.value_, b.value_, &result.value_);
    return result.of(a, b);
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    Checked result(0);
    result.valid_ = !__builtin_sub_overflow(a.value_, b.value_, &result.value_);
    return result.of(a, b);
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked result(0);
    result.valid_ = !__builtin_mul_overflow(a.value_, b.value_, &result.value_);
    return result.of(a, b);
  }

 private:
  constexpr Checked of(Checked a, Checked b) {
    valid_ = valid_ && a.valid_ && b.valid_;
    return *this;
  }

  std::int64_t value_;
  bool valid_ = true;
};

}  // namespace trireme
