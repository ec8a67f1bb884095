#pragma once

// Access to Attributes.

#include <string>
#include <string_view>

#include "trireme/attribute.h"

namespace trireme {

// Returns the attribute called `name`, or null. The pointer is valid until the list changes.
const Attribute* find_attribute(const Attributes& attributes, std::string_view name);
// Adds or replaces an attribute; keeps a sorted list sorted.
void set_attribute(Attributes& attributes, std::string name, Attribute value);
// Returns the kind as signatures of ops spell it: "bool", "int", "float", "string", "ints",
// "floats", "dtype" or "shape".
std::string_view kind_of(const Attribute& attribute);

}  // namespace trireme
