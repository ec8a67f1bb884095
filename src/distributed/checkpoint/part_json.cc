#include "distributed/checkpoint/part_json.h"

#include <fmt/core.h>

#include <charconv>
#include <stdexcept>

namespace trireme::distributed::checkpoint {
namespace {

constexpr const char* kKinds[] = {"full", "delta", "dense"};

[[noreturn]] void refuse(const std::string& what) { throw std::domain_error(what); }

PartInfo::Kind kind_from(const std::string& text) {
  for (int i = 0; i < 3; ++i) {
    if (text == kKinds[i]) return static_cast<PartInfo::Kind>(i);
  }
  refuse(fmt::format("a part of kind \"{}\"", text));
}

Json dense_json(const DenseRange& range) {
  return {{"name", escaped(range.name)},
          {"dtype", name_of(range.dtype)},
          {"shape", range.shape},
          {"rows", {range.first, range.last}}};
}

// Exactly two numbers.
std::pair<std::int64_t, std::int64_t> range_at(const Json& json, const char* key) {
  const Json& pair = json.at(key);
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
      !pair[1].is_number_unsigned()) {
    refuse(fmt::format("\"{}\" is no range", key));
  }
  return {pair[0].get<std::int64_t>(), pair[1].get<std::int64_t>()};
}

DenseRange dense_from(const Json& json) {
  DenseRange range;
  range.name = text_at(json, "name");
  if (!parse_dtype(json.at("dtype").get<std::string>(), &range.dtype)) {
    refuse("a dtype that is none");
  }
  for (const Json& size : json.at("shape")) {
    if (!size.is_number_unsigned()) refuse("a shape that is none");
    range.shape.push_back(size.get<std::int64_t>());
  }
  std::tie(range.first, range.last) = range_at(json, "rows");
  return range;
}

}  // namespace

std::string text_at(const Json& json, const char* key) {
  return unescaped(json.at(key).get_ref<const std::string&>());
}

std::uint64_t whole_at(const Json& json, const char* key, std::uint64_t max) {
  const Json& value = json.at(key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > max) {
    refuse(fmt::format("\"{}\" is no count", key));
  }
  return value.get<std::uint64_t>();
}

// As text, since other readers of JSON keep 53 bits of a number.
std::uint64_t hexadecimal_at(const Json& json, const char* key, std::uint64_t max) {
  const auto& text = json.at(key).get_ref<const std::string&>();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || value > max) {
    refuse(fmt::format("\"{}\" is no hexadecimal number", key));
  }
  return value;
}

Json info_json(const PartInfo& info) {
  Json json = {{"kind", kKinds[static_cast<int>(info.kind)]},
               {"checkpoint", info.checkpoint},
               {"server", escaped(info.server)}};
  if (info.kind == PartInfo::Kind::dense) {
    json["dense"] = Json::array();
    for (const DenseRange& range : info.dense) json["dense"].push_back(dense_json(range));
    return json;
  }
  json["table"] = escaped(info.table);
  json["layout"] = escaped(info.layout);
  json["options"] = escaped(info.options);
  json["row_bytes"] = info.row_bytes;
  json["slots"] = {info.slots.first, info.slots.last};
  json["clock"] = info.clock;
  return json;
}

PartInfo info_from(const Json& json) {
  PartInfo info;
  info.kind = kind_from(json.at("kind").get<std::string>());
  info.checkpoint = count_at(json, "checkpoint");
  info.server = text_at(json, "server");
  if (info.kind == PartInfo::Kind::dense) {
    for (const Json& range : json.at("dense")) info.dense.push_back(dense_from(range));
  } else {
    info.table = text_at(json, "table");
    info.layout = text_at(json, "layout");
    info.options = text_at(json, "options");
    info.row_bytes = static_cast<std::uint32_t>(whole_at(json, "row_bytes", kLargestBlock));
    const auto [first, last] = range_at(json, "slots");
    if (first >= last || last > kSlots) refuse("slots that are none");
    info.slots = {static_cast<int>(first), static_cast<int>(last)};
    info.clock = static_cast<std::uint16_t>(whole_at(json, "clock", UINT16_MAX));
  }
  if (const std::string problem = problem_of(info); !problem.empty()) refuse(problem);
  return info;
}

Json part_json(const Part& part) {
  Json json = info_json(part.info);
  if (part.info.kind == PartInfo::Kind::dense) {
    json["dense_bytes"] = part.counts.bytes;
  } else {
    json["rows"] = part.counts.rows;
    json["removed"] = part.counts.removed;
  }
  json["digest"] = fmt::format("{:016x}", part.counts.digest);
  json["file"] = escaped(part.file);
  json["bytes"] = part.sum.bytes;
  json["crc32c"] = fmt::format("{:08x}", part.sum.crc);
  return json;
}

Part part_from(const Json& json) {
  Part part;
  part.info = info_from(json);
  if (part.info.kind == PartInfo::Kind::dense) {
    part.counts.bytes = whole_at(json, "dense_bytes", INT64_MAX);
  } else {
    part.counts.rows = whole_at(json, "rows", INT64_MAX);
    part.counts.removed = whole_at(json, "removed", INT64_MAX);
  }
  part.counts.digest = hexadecimal_at(json, "digest", UINT64_MAX);
  part.file = text_at(json, "file");
  part.sum.bytes = whole_at(json, "bytes", INT64_MAX);
  part.sum.crc = static_cast<std::uint32_t>(hexadecimal_at(json, "crc32c", UINT32_MAX));
  return part;
}

std::string part_text(const Part& part) { return part_json(part).dump(); }

Part parse_part(std::string_view text, const std::string& name) {
  return from_json(text, name, [](const Json& json) { return part_from(json); });
}

}  // namespace trireme::distributed::checkpoint
