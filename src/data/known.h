#pragma once

#include <string>
#include <string_view>

namespace trireme::data {

// Errors: usage, unless split is "train" or "test".
void check_split(const std::string& dataset, std::string_view split);

}  // namespace trireme::data
