#pragma once

// JSON for the files of this folder.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "distributed/checkpoint/part_json.h"

namespace trireme::distributed {

using checkpoint::Json;

// By number, any bytes.
inline Json json_of(const std::map<std::uint32_t, std::string>& texts) {
  Json json = Json::object();
  for (const auto& [number, bytes] : texts) {
    json[std::to_string(number)] = checkpoint::escaped(bytes);
  }
  return json;
}

inline std::map<std::uint32_t, std::string> texts_of(const Json& json) {
  std::map<std::uint32_t, std::string> texts;
  for (const auto& [number, text] : json.items()) {
    texts[static_cast<std::uint32_t>(std::stoul(number))] =
        checkpoint::unescaped(text.get<std::string>());
  }
  return texts;
}

// By number, numbers.
inline Json json_of(const std::map<std::uint32_t, std::vector<std::uint32_t>>& lists) {
  Json json = Json::object();
  for (const auto& [number, list] : lists) json[std::to_string(number)] = list;
  return json;
}

inline std::map<std::uint32_t, std::vector<std::uint32_t>> lists_of(const Json& json) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> lists;
  for (const auto& [number, list] : json.items()) {
    lists[static_cast<std::uint32_t>(std::stoul(number))] = list.get<std::vector<std::uint32_t>>();
  }
  return lists;
}

// parse(json), where text that is no such JSON is an error of kind data.
template <class Parse>
auto parsed_json(std::string_view text, const char* what, const Parse& parse) {
  try {
    return parse(Json::parse(text));
  } catch (const std::exception& error) {
    fail_data(std::string("no ") + what + ": " + error.what());
  }
}

}  // namespace trireme::distributed
