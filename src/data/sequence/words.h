#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// Returns the words between white space (by Unicode) and the separators U+001C to U+001F.
// Precondition: UTF-8.
std::vector<std::string> words_of(std::string_view text);

// Prepares text for words_of() as mteval-v13a of NIST does. It joins lines, replaces four entities
// of SGML by characters, and inserts spaces around punctuation, around full stops and commas that
// are not between digits, and between a digit and a hyphen.
std::string spaced_13a(std::string_view text);

}  // namespace trireme::data
