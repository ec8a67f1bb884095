#pragma once

// The type rules of ops with blocks. Their blocks are closed: they read only their arguments and
// values computed from them, nothing from outside.

#include <vector>

#include "ir/recurrence.h"
#include "ops/common.h"

namespace trireme::ops {

// Returns the types of the results of `rnn` or `packed_rnn`; TypeError if the step does not match.
std::vector<Type> recurrence_types(const TypeContext& c, const Dim& batch, const Dim& rows);

// TypeError unless the op has `count` blocks, each closed.
void require_blocks(const TypeContext& c, std::size_t count);
// TypeError unless the arguments of the block have these types. `what` names the block in messages.
void require_arguments(const ir::Block& block, const std::vector<Type>& types, const char* what);
// Returns the attribute as a count in [0, max_count]; otherwise TypeError.
std::size_t count_of(const Attributes& attributes, const char* name, std::size_t max_count);

}  // namespace trireme::ops
