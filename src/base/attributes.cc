#include "base/attributes.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"

namespace trireme {
namespace {

template <class T, class Text>
std::string list(const std::vector<T>& elements, Text text) {
  std::string result = "[";
  for (const T& element : elements) {
    if (result.size() > 1) result += ", ";
    result += text(element);
  }
  return result + "]";
}

struct AttributeText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(const std::string& value) const { return quoted_text(value); }
  std::string operator()(const std::vector<std::int64_t>& value) const {
    return list(value, [](std::int64_t v) { return std::to_string(v); });
  }
  std::string operator()(const std::vector<double>& value) const {
    return "floats" + list(value, [](double v) { return float_text(v); });
  }
  std::string operator()(DType value) const { return std::string(name_of(value)); }
  std::string operator()(const Shape& value) const { return "shape" + trireme::str(value); }
};

auto position(const Attributes& attributes, std::string_view name) {
  return std::lower_bound(
      attributes.begin(), attributes.end(), name,
      [](const NamedAttribute& a, std::string_view wanted) { return a.name < wanted; });
}

}  // namespace

const Attribute* find_attribute(const Attributes& attributes, std::string_view name) {
  const auto found = position(attributes, name);
  return found != attributes.end() && found->name == name ? &found->value : nullptr;
}

bool has_attribute(const Attributes& attributes, std::string_view name) {
  return find_attribute(attributes, name) != nullptr;
}

void fail_attribute(const Attributes& attributes, std::string_view name) {
  const Attribute* value = find_attribute(attributes, name);
  const std::string attribute = "attribute '" + std::string(name) + "' ";
  if (value == nullptr) fail_internal(attribute + "is missing");
  fail_internal(attribute + "is a " + std::string(kind_of(*value)) + ", read as another kind");
}

void set_attribute(Attributes& attributes, std::string name, Attribute value) {
  const auto found = attributes.begin() + (position(attributes, name) - attributes.begin());
  if (found != attributes.end() && found->name == name) {
    found->value = std::move(value);
  } else {
    attributes.insert(found, {std::move(name), std::move(value)});
  }
}

std::string_view kind_of(const Attribute& attribute) {
  constexpr std::string_view kKinds[] = {"bool", "int",    "float", "string",
                                         "ints", "floats", "dtype", "shape"};
  static_assert(std::size(kKinds) == std::variant_size_v<Attribute>);
  return kKinds[attribute.index()];
}

std::string quoted_text(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += "\\x";
      result += kHex[byte >> 4];
      result += kHex[byte & 15];
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string print_attribute(const Attribute& attribute) {
  return std::visit(AttributeText(), attribute);
}

}  // namespace trireme
