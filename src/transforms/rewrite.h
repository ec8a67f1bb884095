#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"

namespace trireme::transforms {

// The values that replace the results of an op, which is then dropped; nullopt keeps the op.
using Replacement = std::optional<std::vector<ir::Value*>>;

// Called for each op of the main block in order, after its operands have been replaced. Ops that it
// appends with `b`, which has the location of `op`, come before `op`.
using Visit = std::function<Replacement(ir::Builder& b, ir::Op& op)>;

// Returns how many ops were replaced. Replacements also apply to operands in nested blocks.
int rewrite(ir::Program& program, const Visit& visit);

// Returns the number that fills a constant, or a reshape or broadcast of one; nullopt if unknown.
std::optional<double> known_constant(const ir::Value* value);

}  // namespace trireme::transforms
