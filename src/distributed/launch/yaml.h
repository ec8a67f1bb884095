#pragma once

// JSON values as readable YAML: strings in quotes where they could have another type, strings of
// several lines as blocks.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trireme::distributed {

std::string yaml_of(const nlohmann::ordered_json& value);

}  // namespace trireme::distributed
