// Parses signatures: "conv2d(x, weight; stride: ints = [1, 1], groups: int = 1)".

#include "ir/op_def.h"

#include <array>
#include <optional>

#include "base/error.h"
#include "base/number_text.h"

namespace trireme::ir {
namespace {

using Kind = AttributeSpec::Kind;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits && c != '_') return false;
  }
  return true;
}

// Splits at commas outside brackets and quotes. Returns nothing for a blank text.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty()) return parts;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] != ',' || depth != 0) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

constexpr std::array<std::string_view, 8> kKindNames = {"bool", "int",    "float", "string",
                                                        "ints", "floats", "dtype", "shape"};

std::optional<Kind> kind_named(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (kKindNames[i] == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

// Parses "[a, b]", each element with `read`. Returns nullopt if the text or an element is invalid.
template <class T, class Read>
std::optional<std::vector<T>> parse_list(std::string_view text, Read read) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::vector<T> result;
  for (const std::string_view part : split_list(text.substr(1, text.size() - 2))) {
    const std::optional<T> element = read(part);
    if (!element) return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

template <class T>
std::optional<Attribute> as_attribute(std::optional<T> value) {
  if (!value) return std::nullopt;
  return Attribute(std::move(*value));
}

std::optional<Attribute> parse_default(Kind kind, std::string_view text) {
  switch (kind) {
    case Kind::boolean:
      if (text == "true") return Attribute(true);
      if (text == "false") return Attribute(false);
      return std::nullopt;
    case Kind::integer: return as_attribute(parse_integer(text));
    case Kind::number: return as_attribute(parse_float(text));
    case Kind::text:
      if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
      return Attribute(std::string(text.substr(1, text.size() - 2)));
    case Kind::integers: return as_attribute(parse_list<std::int64_t>(text, parse_integer));
    case Kind::numbers: return as_attribute(parse_list<double>(text, parse_float));
    case Kind::shape: return as_attribute(parse_list<Dim>(text, Dim::parse));
    case Kind::dtype: {
      DType dtype;
      if (!parse_dtype(text, &dtype)) return std::nullopt;
      return Attribute(dtype);
    }
  }
  return std::nullopt;
}

[[noreturn]] void fail_signature(const OpDef& def, const std::string& what) {
  fail_internal("the op signature '" + def.signature + "' is wrong: " + what);
}

AttributeSpec parse_attribute(const OpDef& def, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view head = text.substr(0, equals);
  const std::size_t colon = head.find(':');
  if (colon == std::string_view::npos) fail_signature(def, "an attribute needs ': kind'");
  AttributeSpec spec;
  spec.name = trimmed(head.substr(0, colon));
  if (!is_identifier(spec.name))
    fail_signature(def, "'" + spec.name + "' is not a valid attribute name");
  const std::optional<Kind> kind = kind_named(trimmed(head.substr(colon + 1)));
  if (!kind) fail_signature(def, "attribute '" + spec.name + "' has an unknown kind");
  spec.kind = *kind;
  spec.required = equals == std::string_view::npos;
  if (spec.required) return spec;
  const std::optional<Attribute> value = parse_default(*kind, trimmed(text.substr(equals + 1)));
  if (!value) fail_signature(def, "the default of '" + spec.name + "' does not match its kind");
  spec.default_value = *value;
  return spec;
}

}  // namespace

std::string_view kind_name(Kind kind) { return kKindNames.at(static_cast<std::size_t>(kind)); }

void use_new_names(const OpDef& def, Attributes& attributes) {
  for (const auto& [old_name, new_name] : def.old_attributes) {
    for (NamedAttribute& attribute : attributes) {
      if (attribute.name == old_name) attribute.name = new_name;
    }
  }
}

void parse_signature(OpDef& def) {
  std::string_view text = trimmed(def.signature);
  const std::size_t arrow = text.find("->");
  if (arrow != std::string_view::npos) {
    const std::string_view results = trimmed(text.substr(arrow + 2));
    def.variadic_results = results.ends_with("...");
    def.results.clear();
    if (results != "()") {
      for (const std::string_view result : split_list(results)) def.results.emplace_back(result);
    }
    if (def.variadic_results) def.results.back().resize(def.results.back().size() - 3);
    def.result_count = static_cast<int>(def.results.size());
    text = trimmed(text.substr(0, arrow));
  }
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') {
    fail_signature(def, "it is not of the form name(operands; attributes)");
  }
  def.name = trimmed(text.substr(0, open));
  if (!is_identifier(def.name)) fail_signature(def, "'" + def.name + "' is not a valid op name");
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const std::size_t semicolon = inside.find(';');

  def.operands.clear();
  def.variadic = false;
  for (std::string_view operand : split_list(inside.substr(0, semicolon))) {
    if (def.variadic) fail_signature(def, "only the last operand may be variadic");
    if (operand.ends_with("...")) {
      def.variadic = true;
      operand.remove_suffix(3);
    }
    if (!is_identifier(operand)) fail_signature(def, "an operand has no valid name");
    def.operands.emplace_back(operand);
  }

  def.attributes.clear();
  if (semicolon == std::string_view::npos) return;
  for (const std::string_view attribute : split_list(inside.substr(semicolon + 1))) {
    def.attributes.push_back(parse_attribute(def, attribute));
  }
}

std::vector<std::string> public_names(const OpSet& op_set) {
  std::vector<std::string> names = op_set.names();
  std::erase_if(names,
                [&](const std::string& name) { return op_set.find(name)->has(Trait::internal); });
  return names;
}

}  // namespace trireme::ir
