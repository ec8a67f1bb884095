#pragma once

// JSON for the files of this folder.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "distributed/checkpoint/part_json.h"
#include "distributed/server/protocol.h"

namespace trireme::distributed {

using checkpoint::Json;

// Numbers as keys; declarations as any bytes.
inline Json json_of(const Declarations& declared) {
  const auto texts = [](const std::map<std::uint32_t, std::string>& from) {
    Json json = Json::object();
    for (const auto& [number, bytes] : from) {
      json[std::to_string(number)] = checkpoint::escaped(bytes);
    }
    return json;
  };
  Json json;
  json["tables"] = texts(declared.tables);
  json["dense"] = texts(declared.dense);
  json["blocks"] = Json::object();
  for (const auto& [number, blocks] : declared.blocks) {
    json["blocks"][std::to_string(number)] = blocks;
  }
  return json;
}

inline Declarations declared_in(const Json& json) {
  const auto number = [](const std::string& key) {
    return static_cast<std::uint32_t>(std::stoul(key));
  };
  const auto texts = [&](const Json& from) {
    std::map<std::uint32_t, std::string> result;
    for (const auto& [key, text] : from.items()) {
      result[number(key)] = checkpoint::unescaped(text.get<std::string>());
    }
    return result;
  };
  Declarations declared{texts(json.at("tables")), texts(json.at("dense")), {}};
  for (const auto& [key, blocks] : json.at("blocks").items()) {
    declared.blocks[number(key)] = blocks.get<std::vector<std::uint32_t>>();
  }
  return declared;
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
