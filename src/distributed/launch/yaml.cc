#include "distributed/launch/yaml.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

namespace trireme::distributed {
namespace {

using Json = nlohmann::ordered_json;

// Texts that no YAML reader takes for a number, a time, a boolean or a null.
bool is_plain(const std::string& text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || (!letter(text[0]) && text[0] != '/')) return false;
  for (const char* word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}) {
    std::string lower = text;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower == word) return false;
  }
  return text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "-_./") == std::string::npos;
}

void emit(YAML::Emitter& out, const Json& value);

void emit_text(YAML::Emitter& out, const std::string& text) {
  if (text.find('\n') != std::string::npos) out << YAML::Literal << text;
  else if (is_plain(text)) out << text;
  else out << YAML::DoubleQuoted << text;
}

void emit_map(YAML::Emitter& out, const Json& value) {
  out << YAML::BeginMap;
  for (const auto& [key, entry] : value.items()) {
    out << YAML::Key;
    emit_text(out, key);
    out << YAML::Value;
    emit(out, entry);
  }
  out << YAML::EndMap;
}

void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object() && !value.empty()) {
    emit_map(out, value);
  } else if (value.is_array() && !value.empty()) {
    out << YAML::BeginSeq;
    for (const Json& entry : value) emit(out, entry);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    emit_text(out, value.get<std::string>());
  } else {
    out << YAML::Flow;
    if (value.is_object()) out << YAML::BeginMap << YAML::EndMap;
    else if (value.is_array()) out << YAML::BeginSeq << YAML::EndSeq;
    else if (value.is_null()) out << YAML::Null;
    else if (value.is_boolean()) out << value.get<bool>();
    else out << value.dump();  // a number
  }
}

}  // namespace

std::string yaml_of(const Json& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

}  // namespace trireme::distributed
