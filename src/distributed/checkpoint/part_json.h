#pragma once

// Parts as JSON, for the files that read and write JSON.

#include <string>
#include <string_view>

#include "base/json.h"
#include "distributed/checkpoint/part.h"
#include "distributed/coordination/message.h"

namespace trireme::distributed::checkpoint {

using Json = message::Json;

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

// As fields of messages (coordination/message.h).
inline Json encode_value(const Part& part) { return part_json(part); }
inline void decode_value(const Json& json, Part& part) { part = part_from(json); }
inline Json encode_value(const ExportPart& part) { return export_part_json(part); }
void decode_value(const Json& json, ExportPart& part);

// Returns parse(json); text that is no such JSON is Damaged.
template <class Parse>
auto from_json(std::string_view text, const std::string& name, const Parse& parse) {
  try {
    return parse(parse_json<Json>(text));
  } catch (const std::exception& error) {
    throw Damaged(name + " is damaged: " + error.what());
  }
}

}  // namespace trireme::distributed::checkpoint
