// Parts of a job as JSON.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "session/job/node.h"

namespace trireme::job {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepest = 32;

Json to_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::boolean: return node.boolean;
    case Node::Kind::integer: return node.integer;
    case Node::Kind::number: return node.number;
    case Node::Kind::text: return node.text;
    case Node::Kind::list: {
      Json list = Json::array();
      for (const Node& item : node.items) list.push_back(to_json(item));
      return list;
    }
    case Node::Kind::table: break;
  }
  Json table = Json::object();
  for (const Node& member : node.members) table[member.key] = to_json(member);
  return table;
}

Node to_node(const Json& from, const std::string& path, const std::string& file, int depth) {
  Node to;
  to.file = file;
  to.path = path;
  if (depth > kDeepest) fail_at(to, "nested too deeply");
  if (from.is_object()) {
    for (const auto& [key, value] : from.items()) {
      to.members.push_back(to_node(value, path.empty() ? key : path + "." + key, file, depth + 1));
      to.members.back().key = key;
    }
  } else if (from.is_array()) {
    to.kind = Node::Kind::list;
    for (std::size_t i = 0; i < from.size(); ++i) {
      to.items.push_back(to_node(from[i], fmt::format("{}[{}]", path, i), file, depth + 1));
    }
  } else if (from.is_string()) {
    to.kind = Node::Kind::text;
    to.text = from.get<std::string>();
  } else if (from.is_boolean()) {
    to.kind = Node::Kind::boolean;
    to.boolean = from.get<bool>();
  } else if (from.is_number_integer()) {
    to.kind = Node::Kind::integer;
    to.integer = from.get<std::int64_t>();
  } else if (from.is_number()) {
    to.kind = Node::Kind::number;
    to.number = from.get<double>();
  } else {
    fail_at(to, "null has no meaning in a job");
  }
  return to;
}

}  // namespace

std::string json_text(const Node& node) { return to_json(node).dump(); }

Node parse_json(const std::string& text, const std::string& file) {
  const Json json = try_parse_json<Json>(text);
  if (json.is_discarded()) fail_data(file + ": this is not JSON, or damaged");
  return to_node(json, "", file, 0);
}

}  // namespace trireme::job
