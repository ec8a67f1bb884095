#pragma once

// JSON values as YAML, for people to read: strings in quotes where they would be taken for
// something else, those of several lines as blocks.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trireme::distributed {

std::string yaml_of(const nlohmann::ordered_json& value);

}  // namespace trireme::distributed
