#pragma once

#include <cstdint>

namespace trireme::data {

// How a character affects the splitting of words.
enum class CharacterKind : std::uint8_t {
  white,  // the property White_Space, and control characters
  mark,   // punctuation and symbols (categories P and S), but for "_" and its like (Pc)
  word,   // all others
};

CharacterKind kind_of(char32_t code);

// By the simple mapping of Unicode: one code point becomes one.
char32_t to_lower(char32_t code);

}  // namespace trireme::data
