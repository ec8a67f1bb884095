#pragma once

#include <string_view>
#include <vector>

namespace trireme::data {

// Returns the lines without their ends, "\n" or "\r\n".
std::vector<std::string_view> lines_of(std::string_view text);

// Returns the text without the byte-order mark of UTF-8 that some editors put before it.
std::string_view without_bom(std::string_view text);

// Removes the next word, up to a blank, from the front of `text` and returns it; empty at the end.
std::string_view next_word(std::string_view& text);

// Returns the text without blanks and line ends at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace trireme::data
