#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trireme {

// Returns the shortest text that reads back as the same number. It always contains '.', 'e', "inf"
// or "nan", so that it never looks like an integer: "0.1", "1.0", "1e-20", "-inf".
std::string float_text(double value);
std::string float_text(float value);

// "9,840".
std::string with_thousands(std::int64_t value);

// Reads the whole of `text` as a number in the notation of C, whatever the locale. Returns nothing
// if it is no number or too large. A leading '+' is accepted, and a number too close to 0 is 0.
std::optional<double> parse_float(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace trireme
