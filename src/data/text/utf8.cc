#include "data/text/utf8.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace trireme::data {

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, text.empty() ? 0u : 1u};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {};
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[length] || code > 0x10FFFF || surrogate) return {};
  return {code, length};
}

void append_utf8(std::string& text, char32_t code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = first_character(text.substr(at, 4)).length;
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

void check_utf8(std::string_view text, const std::string& name) {
  const std::size_t at = find_invalid_utf8(text);
  if (at == std::string_view::npos) return;
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n') + 1;
  fail_data(name + ":" + std::to_string(line) + ": byte " + std::to_string(at - start + 1) +
            " of the line is not UTF-8; convert it, as with iconv -t UTF-8");
}

char32_t take_code_point(std::string_view& text) {
  const Character first = first_character(text);
  text.remove_prefix(first.length);
  return first.code;
}

std::u32string code_points(std::string_view text) {
  std::u32string codes;
  while (!text.empty()) codes.push_back(take_code_point(text));
  return codes;
}

}  // namespace trireme::data
