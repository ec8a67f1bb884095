#include "base/attributes.h"

#include <algorithm>
#include <utility>

namespace trireme {
namespace {

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

}  // namespace trireme
