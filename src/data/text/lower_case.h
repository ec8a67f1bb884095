#pragma once

#include <string>
#include <string_view>

namespace trireme::data {

// Text in lower case, by the rules of Unicode that depend on no language: the capital I with a dot
// becomes an i and a dot above, and a capital sigma at the end of a word the small one that stands
// there. What is a word is looked at more simply than Unicode does: by letters that have two cases.
// Precondition: UTF-8.
std::string lower_case(std::string_view text);

}  // namespace trireme::data
