#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// Called for each op of the main block in order, when its operands have been replaced. Ops that it
// appends to the main block come before `op`. Returns the values that stand for op's results from
// here on (the op is then dropped), or nothing to keep the op.
using Visit = std::function<std::optional<std::vector<ir::Value*>>(ir::Op& op)>;

// Returns how many ops were replaced. Nested blocks' operands follow the replacements.
int rewrite(ir::Program& program, const Visit& visit);

// An op appended to the main block at the place and layer of `like`; returns its first result.
ir::Value* make(ir::Program& program, const ir::Op& like, std::string_view name,
                std::vector<ir::Value*> operands, Attributes attributes = {});

// A constant of any shape filled with `value`.
ir::Value* make_constant(ir::Program& program, const ir::Op& like, const ir::Type& type,
                         double value);

// The number a value is known to be filled with: a constant, or a reshape or broadcast of one.
std::optional<double> known_constant(const ir::Value* value);

}  // namespace trireme::transforms
