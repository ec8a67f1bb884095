// Attributes: access, comparison, and filling in defaults from an op's signature.

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "ir/program.h"

namespace trireme::ir {
namespace {

bool same_double(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// The kinds are declared in the same order as the alternatives of the variant Attribute.
bool has_kind(const Attribute& value, AttributeSpec::Kind kind) {
  return value.index() == static_cast<std::size_t>(kind);
}

// Returns the value converted to `kind` if the conversion is lossless; otherwise unchanged.
Attribute converted(Attribute value, AttributeSpec::Kind kind) {
  using Kind = AttributeSpec::Kind;
  if (has_kind(value, kind)) return value;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (kind == Kind::number) return static_cast<double>(*integer);
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    if (kind == Kind::shape) return Shape(integers->begin(), integers->end());
    if (kind == Kind::numbers) return std::vector<double>(integers->begin(), integers->end());
  }
  if (const auto* shape = std::get_if<Shape>(&value)) {
    if (kind == Kind::integers && is_constant(*shape)) return evaluate(*shape, {});
  }
  return value;
}

std::string known_attributes(const OpDef& def) {
  if (def.attributes.empty()) return "the op has no attributes";
  std::string text = "known attributes: ";
  for (const AttributeSpec& spec : def.attributes) {
    if (&spec != &def.attributes.front()) text += ", ";
    text += spec.name;
  }
  return text;
}

[[noreturn]] void fail_unknown(const OpDef& def, const std::string& name) {
  std::vector<std::string> names;
  for (const AttributeSpec& spec : def.attributes) names.push_back(spec.name);
  const std::string near = nearest(name, names);
  throw TypeError{"there is no attribute '" + name + "'",
                  near.empty() ? known_attributes(def) : "did you mean '" + near + "'?"};
}

}  // namespace

bool same(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const double* number = std::get_if<double>(&a)) {
    return same_double(*number, std::get<double>(b));
  }
  if (const auto* numbers = std::get_if<std::vector<double>>(&a)) {
    const auto& others = std::get<std::vector<double>>(b);
    return std::equal(numbers->begin(), numbers->end(), others.begin(), others.end(), same_double);
  }
  return a == b;
}

bool same(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const NamedAttribute& x, const NamedAttribute& y) {
                      return x.name == y.name && same(x.value, y.value);
                    });
}

Attributes complete_attributes(const OpDef& def, Attributes given) {
  Attributes result;
  result.reserve(def.attributes.size());
  for (NamedAttribute& attribute : given) {
    const auto spec =
        std::find_if(def.attributes.begin(), def.attributes.end(),
                     [&](const AttributeSpec& s) { return s.name == attribute.name; });
    if (spec == def.attributes.end()) fail_unknown(def, attribute.name);
    if (has_attribute(result, attribute.name)) {
      throw TypeError{"attribute '" + attribute.name + "' is set twice", ""};
    }
    Attribute value = converted(std::move(attribute.value), spec->kind);
    if (!has_kind(value, spec->kind)) {
      throw TypeError{"attribute '" + attribute.name + "' must be a " +
                          std::string(kind_name(spec->kind)) + ", not " + print_attribute(value),
                      ""};
    }
    set_attribute(result, std::move(attribute.name), std::move(value));
  }
  for (const AttributeSpec& spec : def.attributes) {
    if (has_attribute(result, spec.name)) continue;
    if (spec.required) {
      throw TypeError{"attribute '" + spec.name + "' is missing",
                      "it has type " + std::string(kind_name(spec.kind)) + " and no default"};
    }
    set_attribute(result, spec.name, spec.default_value);
  }
  return result;
}

}  // namespace trireme::ir
