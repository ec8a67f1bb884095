#pragma once

// Arithmetic with numbers from outside: files, jobs, program texts and network frames.

#include <cstdint>
#include <optional>

namespace trireme {

// A whole number, or invalid: a result that does not fit into 64 bits is invalid, and so is every
// result of an invalid number. So one test after a computation is enough.
class Checked {
 public:
  constexpr Checked(std::int64_t value) : value_(value) {}  // implicit, for literals
  constexpr bool valid() const { return value_.has_value(); }
  // Precondition: valid.
  constexpr std::int64_t value() const { return *value_; }
  constexpr std::int64_t value_or(std::int64_t other) const { return value_.value_or(other); }

  friend constexpr Checked operator+(Checked a, Checked b) {
    std::int64_t result = 0;
    if (!a.valid() || !b.valid() || __builtin_add_overflow(*a.value_, *b.value_, &result)) {
      return invalid();
    }
    return result;
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    std::int64_t result = 0;
    if (!a.valid() || !b.valid() || __builtin_sub_overflow(*a.value_, *b.value_, &result)) {
      return invalid();
    }
    return result;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    std::int64_t result = 0;
    if (!a.valid() || !b.valid() || __builtin_mul_overflow(*a.value_, *b.value_, &result)) {
      return invalid();
    }
    return result;
  }

 private:
  static constexpr Checked invalid() {
    Checked result(0);
    result.value_.reset();
    return result;
  }
  std::optional<std::int64_t> value_;
};

}  // namespace trireme
