#pragma once

// Reads YAML as JSON with another library than the one that writes it.

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <string>

namespace trireme::distributed::testing {

// By the core schema of YAML: unquoted texts may have other types. yaml-cpp marks quoted ones by
// "!".
inline nlohmann::ordered_json json_of(const YAML::Node& node) {
  using Json = nlohmann::ordered_json;
  if (node.IsMap()) {
    Json map = Json::object();
    for (const auto& entry : node) map[entry.first.as<std::string>()] = json_of(entry.second);
    return map;
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const auto& entry : node) list.push_back(json_of(entry));
    return list;
  }
  if (node.IsNull()) return nullptr;
  const std::string text = node.as<std::string>();
  if (node.Tag() == "!") return text;
  const Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

}  // namespace trireme::distributed::testing
