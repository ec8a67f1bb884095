#pragma once

// Access to Attributes.

#include <string>
#include <string_view>

#include "trireme/attribute.h"

namespace trireme {

// Returns the attribute called `name`, or null. The pointer is valid until the list changes.
const Attribute* find_attribute(const Attributes& attributes, std::string_view name);
bool has_attribute(const Attributes& attributes, std::string_view name);
// Error(internal) if the attribute is missing or of another kind: type rules check the attributes
// of users before.
template <class T>
const T& get_attribute(const Attributes& attributes, std::string_view name);
// Adds or replaces an attribute; keeps a sorted list sorted.
void set_attribute(Attributes& attributes, std::string name, Attribute value);
// Returns the kind as signatures of ops spell it: "bool", "int", "float", "string", "ints",
// "floats", "dtype" or "shape".
std::string_view kind_of(const Attribute& attribute);

// Returns an attribute in the text form of Programs (src/ir/README.md).
std::string print_attribute(const Attribute& attribute);
// Returns `text` in quotation marks, with escapes.
std::string quoted_text(std::string_view text);

// --- Implementation

[[noreturn]] void fail_attribute(const Attributes& attributes, std::string_view name);

template <class T>
const T& get_attribute(const Attributes& attributes, std::string_view name) {
  const Attribute* value = find_attribute(attributes, name);
  const T* typed = value != nullptr ? std::get_if<T>(value) : nullptr;
  if (typed == nullptr) fail_attribute(attributes, name);
  return *typed;
}

}  // namespace trireme
