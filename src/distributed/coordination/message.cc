#include "distributed/coordination/message.h"

#include <fmt/core.h>

#include <charconv>

namespace trireme::distributed {

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c < ' ' || c > '~' || c == '%') {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (text.size() - i < 3 || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) {
      throw std::domain_error("a % without two hexadecimal digits");
    }
    bytes += static_cast<char>(value);
    i += 2;
  }
  return bytes;
}

}  // namespace trireme::distributed
