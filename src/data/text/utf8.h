#pragma once

#include <string>
#include <string_view>

namespace trireme::data {

// A code point and how many bytes it takes.
struct Character {
  char32_t code = 0;
  std::size_t length = 0;
};

// The character that a text begins with; its length is 0 if none does, as in an empty text.
Character first_character(std::string_view text);

void append_utf8(std::string& text, char32_t code);

// Where the first byte lies that does not belong to UTF-8 as RFC 3629 has it (no surrogates, nothing
// longer than need be); npos if there is none.
std::size_t find_invalid_utf8(std::string_view text);

// Errors: data, naming the line and its byte. `name` is of a file, or "the text".
void check_utf8(std::string_view text, const std::string& name);

// The code point that the text begins with, which is taken off its front. Precondition: UTF-8, and not
// empty.
char32_t take_code_point(std::string_view& text);
// All of them. Precondition: UTF-8.
std::u32string code_points(std::string_view text);

}  // namespace trireme::data
