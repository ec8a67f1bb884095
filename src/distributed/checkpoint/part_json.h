#pragma once

// Parts as JSON, for the files that read and write JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "distributed/checkpoint/part.h"

namespace trireme::distributed::checkpoint {

using Json = nlohmann::ordered_json;

// Encodes any bytes as text: % and bytes that are not printable ASCII become % and two hexadecimal
// digits.
std::string escaped(std::string_view bytes);
std::string unescaped(std::string_view text);  // throws errors of the JSON library
std::string text_at(const Json& json, const char* key);

// Returns an integer from 0 to `max`. Other values throw an error of the JSON library.
std::uint64_t whole_at(const Json& json, const char* key, std::uint64_t max);
inline std::int64_t count_at(const Json& json, const char* key) {
  return static_cast<std::int64_t>(whole_at(json, key, INT64_MAX));
}
std::uint64_t hexadecimal_at(const Json& json, const char* key, std::uint64_t max);

Json info_json(const PartInfo& info);
PartInfo info_from(const Json& json);
Json part_json(const Part& part);
Part part_from(const Json& json);
struct ExportPart;  // export.h
Json export_part_json(const ExportPart& part);
ExportPart export_part_from(const Json& json);

// Returns parse(json); text that is no such JSON is Damaged.
template <class Parse>
auto from_json(std::string_view text, const std::string& name, const Parse& parse) {
  try {
    return parse(Json::parse(text));
  } catch (const std::exception& error) {
    throw Damaged(name + " is damaged: " + error.what());
  }
}

}  // namespace trireme::distributed::checkpoint
