#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace trireme::ir {

// Returns the text of an error in building an op: the violated rule, the user's layer and line,
// where each operand comes from, and a hint. See "A mistake" in docs/explanation/architecture.md.
std::string describe_mistake(std::string_view op, const OpDef* def,
                             const std::vector<Value*>& operands, const Location& location,
                             const TypeError& error);

// Returns the name of operand `i` in the signature, such as "x" or "xs[2]"; "operand 3" if the
// signature has no operand `i`.
std::string operand_name(const OpDef* def, std::size_t i);

}  // namespace trireme::ir
