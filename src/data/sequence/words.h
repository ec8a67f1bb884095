#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// What stands between white space as Unicode has it, and between the separators U+001C to U+001F.
// Precondition: UTF-8.
std::vector<std::string> words_of(std::string_view text);

// Text as NIST's mteval-v13a prepares it for words_of(): lines joined, four entities of SGML made
// characters, spaces around punctuation, around full stops and commas that are not between digits, and
// behind a digit before a hyphen.
std::string spaced_13a(std::string_view text);

}  // namespace trireme::data
