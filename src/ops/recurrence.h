#pragma once

// The type rules of ops with blocks. Their blocks are closed: they read their arguments, and what is made
// of them, and nothing from outside.

#include <vector>

#include "ir/recurrence.h"
#include "ops/common.h"

namespace trireme::ops {

std::vector<Type> recurrence_types(const TypeContext& c, const Dim& batch, const Dim& rows);

// TypeError unless the op has `count` blocks, each closed.
void require_blocks(const TypeContext& c, std::size_t count);
void require_arguments(const ir::Block& block, const std::vector<Type>& types, const char* what);
// The attribute as a count between 0 and `most`; otherwise TypeError.
std::size_t count_of(const Attributes& attributes, const char* name, std::size_t most);

}  // namespace trireme::ops
