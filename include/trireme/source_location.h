#pragma once

#include <cstdint>

namespace trireme {

// A place in the user's code, for error messages. As a default argument, current() is the place of
// the caller. The file name must exist as long as the Program that was built with it; that of
// current() exists until the process ends.
class SourceLocation {
 public:
  constexpr SourceLocation() = default;  // unknown
  constexpr SourceLocation(const char* file, std::uint32_t line) : file_(file), line_(line) {}
  // From std::source_location, and other types with the same members.
  template <class Other>
    requires requires(const Other& other) {
      other.file_name();
      other.line();
    }
  constexpr SourceLocation(const Other& other)  // NOLINT
      : SourceLocation(other.file_name(), other.line()) {}

  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          std::uint32_t line = __builtin_LINE()) {
    return {file, line};
  }

  constexpr const char* file_name() const { return file_; }
  constexpr std::uint32_t line() const { return line_; }  // 0: unknown

 private:
  const char* file_ = "";
  std::uint32_t line_ = 0;
};

}  // namespace trireme
