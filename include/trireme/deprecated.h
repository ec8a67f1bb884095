#pragma once

// Old names that still work in this version. CHANGELOG.md lists them with the new names.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

#include "trireme/export.h"

namespace trireme {

// The name of an option as a template argument.
template <std::size_t N>
struct OptionName {
  char text[N] = {};
  consteval OptionName(const char (&name)[N]) { std::copy_n(name, N, text); }  // NOLINT
};

namespace detail {
[[noreturn]] TRIREME_API void fail_two_names(const char* old_name, const char* new_name);
}  // namespace detail

// A member of an options struct under its old name. Setting it is a compiler warning, which shows
// the new name.
template <class T, OptionName Old, OptionName New>
class DeprecatedOption {
 public:
  DeprecatedOption() = default;
  template <class U>
    requires std::convertible_to<U, T>
  [[deprecated("this option has a new name, which its declaration shows")]] DeprecatedOption(
      U&& value)  // NOLINT
      : value_(std::forward<U>(value)) {}

  // If the old name is set, moves its value to the member with the new name. `initial` is the
  // default of the member. Errors: usage if both names are set.
  void apply_to(T& member, const T& initial = T())
    requires std::equality_comparable<T>
  {
    move_to(member, !(member == initial));
  }
  // The same for a T without ==. `is_set`: whether the member has been set.
  void move_to(T& member, bool is_set) {
    if (!value_) return;
    if (is_set) detail::fail_two_names(Old.text, New.text);
    member = *std::exchange(value_, std::nullopt);
  }

 private:
  std::optional<T> value_;
};

}  // namespace trireme
