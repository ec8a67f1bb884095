#pragma once

#include <string_view>
#include <vector>

namespace trireme::data {

// Lines without their ends, "\n" or "\r\n".
std::vector<std::string_view> lines_of(std::string_view text);

// The next word between blanks, taken off the front of `text`; empty at the end.
std::string_view next_word(std::string_view& text);

// Without the blanks at both ends; line ends are blanks, too.
std::string_view trimmed(std::string_view text);

}  // namespace trireme::data
