#pragma once

// What job files, the JSON catalog and bindings know of one option. Each options struct has a
// function
//   template <class Visit> void fields(Visit& visit, Options& options)
// that calls visit(Field, member) for every option that a job file may set. The default of an
// option is the value of the member in a default-constructed struct.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace trireme::nn {

// The smallest and the largest value; an open end excludes it.
struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool open_min = false, open_max = false;

  bool contain(double value) const {  // false for NaN if there is a limit
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    if (min == -kInfinite && max == kInfinite) return true;
    return (open_min ? value > min : value >= min) && (open_max ? value < max : value <= max);
  }
};

// Larger sizes are typing errors, and their products would overflow.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 20;

inline constexpr Limits kAny{};
inline constexpr Limits kSize{1, static_cast<double>(kLargestSize)};  // of a layer
inline constexpr Limits kExtent{0, static_cast<double>(kLargestSize)};
inline constexpr Limits kFraction{.min = 0, .max = 1, .open_max = true};
inline constexpr Limits kNotNegative{.min = 0};
inline constexpr Limits kPositive{.min = 0, .open_min = true};

struct Field {
  const char* name;
  const char* doc;  // a phrase without a full stop: "width of the result"
  Limits limits = kAny;
  bool required = false;          // unless the member is not zero: it follows from the data then
  const char* default_text = "";  // of a default that depends on other things: "`kernel`"; of a
                                  // required option: when it may be missing
  const char* unit = "";          // "epochs", "pixels"
  // Of a member that is no plain value: the definition of the JSON Schema that it must match.
  const char* definition = "";
};

// Of layers and losses without options.
struct NoOptions {};
template <class Visit>
void fields(Visit&, NoOptions&) {}

// The words that an enumeration has in job files.
template <class Enum>
using Words = std::vector<std::pair<std::string, Enum>>;

// An entry of the catalog.
struct Entry {
  const char* name;
  const char* doc;
};

}  // namespace trireme::nn
