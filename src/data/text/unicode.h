#pragma once

#include <cstdint>

namespace trireme::data {

// What a character does to the words around it.
enum class CharacterKind : std::uint8_t {
  white,  // the property White_Space, and control characters
  mark,   // punctuation and symbols (categories P and S), but for "_" and its like (Pc)
  word,   // all else
};

CharacterKind kind_of(char32_t code);

// By Unicode's simple mapping: one code point stays one.
char32_t to_lower(char32_t code);

}  // namespace trireme::data
