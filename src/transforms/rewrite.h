#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// Called for each op of the main block in order, after its operands have been replaced. Ops that it
// appends to the main block come before `op`. Returns the values that replace the op's results, in
// which case the op is dropped, or nullopt to keep the op.
using Visit = std::function<std::optional<std::vector<ir::Value*>>(ir::Op& op)>;

// Returns how many ops were replaced. Replacements also apply to operands in nested blocks.
int rewrite(ir::Program& program, const Visit& visit);

// Appends an op to the main block with the location of `like`; returns its first result.
ir::Value* make(ir::Program& program, const ir::Op& like, std::string_view name,
                std::vector<ir::Value*> operands, Attributes attributes = {});

// Returns a constant of `type` filled with `value`.
ir::Value* make_constant(ir::Program& program, const ir::Op& like, const ir::Type& type,
                         double value);

// Returns the number that fills a constant, or a reshape or broadcast of one; nullopt if unknown.
std::optional<double> known_constant(const ir::Value* value);

}  // namespace trireme::transforms
