#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace trireme::ir {

// The text of an error in building an op: what rule is violated, the user's layer and line, where
// each operand comes from, and a hint. See "A mistake" in docs/explanation/architecture.md.
std::string describe_mistake(std::string_view op, const OpDef* def,
                             const std::vector<Value*>& operands, const Location& location,
                             const TypeError& error);

// "x", "xs[2]": how the signature calls operand `i`; "operand 3" beyond it.
std::string operand_name(const OpDef* def, std::size_t i);

}  // namespace trireme::ir
