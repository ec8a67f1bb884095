#pragma once

// JSON for the files of this folder.

#include <map>
#include <nlohmann/json.hpp>
#include <string>

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
