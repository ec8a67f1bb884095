#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trireme {

// The shortest text that reads back as the same number; always with '.', 'e', "inf" or "nan" in it,
// so that it never looks like an integer: "0.1", "1.0", "1e-20", "-inf".
std::string float_text(double value);
std::string float_text(float value);

// The whole of `text` as a number, in C's notation whatever the locale. Empty if it is not one, or
// out of range. A leading '+' is accepted.
std::optional<double> parse_float(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace trireme
