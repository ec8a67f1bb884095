#include "base/number_text.h"

#include <charconv>
#include <cmath>

namespace trireme {
namespace {

template <class T>
std::string text_of(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::optional<T> parse(std::string_view text) {
  if (!text.empty() && text[0] == '+') {
    text.remove_prefix(1);
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) return std::nullopt;
  }
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string float_text(double value) { return text_of(value); }
std::string float_text(float value) { return text_of(value); }
std::string with_thousands(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0);
       at -= 3) {
    digits.insert(digits.begin() + at, ',');
  }
  return digits;
}

std::optional<double> parse_float(std::string_view text) {
  if (const auto number = parse<double>(text)) return number;
  // Too close to 0 for a double. The range of long double is much larger.
  const auto wide = parse<long double>(text);
  if (!wide || std::isinf(static_cast<double>(*wide))) return std::nullopt;
  return static_cast<double>(*wide);
}
std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse<std::int64_t>(text);
}

}  // namespace trireme
