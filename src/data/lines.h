#pragma once

#include <string_view>
#include <vector>

namespace trireme::data {

// Lines without their ends, "\n" or "\r\n".
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace trireme::data
