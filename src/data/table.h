#pragma once

#include <string>
#include <string_view>

#include "trireme/data.h"

namespace trireme::data {

// What csv() does, on text that is there already. `name` is for messages.
Dataset table_from_csv(std::string_view text, const std::string& name, const CsvOptions& options);

}  // namespace trireme::data
