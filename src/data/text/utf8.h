#pragma once

#include <string>
#include <string_view>

namespace trireme::data {

// A code point and its number of bytes.
struct Character {
  char32_t code = 0;
  std::size_t length = 0;
};

// Returns the first character of a text; its length is 0 if the text is empty or begins with no
// character.
Character first_character(std::string_view text);

void append_utf8(std::string& text, char32_t code);

// Returns the position of the first byte that is not valid UTF-8 by RFC 3629 (no surrogates, no
// overlong forms); npos if there is none.
std::size_t find_invalid_utf8(std::string_view text);

// Errors: data with the line and the byte. `name` is the name of a file, or "the text".
void check_utf8(std::string_view text, const std::string& name);

// Removes the first code point from the text and returns it. Precondition: UTF-8, not empty.
char32_t take_code_point(std::string_view& text);
// Returns all code points. Precondition: UTF-8.
std::u32string code_points(std::string_view text);

}  // namespace trireme::data
