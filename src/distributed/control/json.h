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

inline std::uint32_t number_in(const std::string& key) {
  return static_cast<std::uint32_t>(std::stoul(key));
}

inline Json json_of_blocks(const Blocks& all) {
  Json json = Json::object();
  for (const auto& [number, blocks] : all) json[std::to_string(number)] = blocks;
  return json;
}

inline Blocks blocks_in(const Json& json) {
  Blocks all;
  for (const auto& [key, blocks] : json.items()) {
    all[number_in(key)] = blocks.get<std::vector<std::uint32_t>>();
  }
  return all;
}

// Numbers as keys; declarations as bytes.
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
  json["blocks"] = json_of_blocks(declared.blocks);
  return json;
}

inline Declarations declared_in(const Json& json) {
  const auto texts = [](const Json& from) {
    std::map<std::uint32_t, std::string> result;
    for (const auto& [key, text] : from.items()) {
      result[number_in(key)] = checkpoint::unescaped(text.get<std::string>());
    }
    return result;
  };
  return {texts(json.at("tables")), texts(json.at("dense")), blocks_in(json.at("blocks"))};
}

// Returns parse(json); a text that is no such JSON is Error(data).
template <class Parse>
auto parsed_json(std::string_view text, const char* what, const Parse& parse) {
  try {
    return parse(Json::parse(text));
  } catch (const std::exception& error) {
    fail_data(std::string("no ") + what + ": " + error.what());
  }
}

}  // namespace trireme::distributed
