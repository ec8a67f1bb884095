#pragma once

#include <string>
#include <string_view>

namespace trireme::data {

// Returns the text in lower case, by the rules of Unicode that are independent of language. The
// capital I with a dot becomes an i and a dot above, and a capital sigma at the end of a word
// becomes a final sigma. Words are found more simply than in Unicode: by letters that have two
// cases. Precondition: UTF-8.
std::string lower_case(std::string_view text);

}  // namespace trireme::data
