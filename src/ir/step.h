#pragma once

#include <vector>

#include "ir/program.h"

namespace trireme::ir {

// Rewrites a finished step of a recurrent network before it becomes an op. `states` are the
// arguments of the step that hold its states.
// First, splits a product whose left operand concatenates columns, some of which depend on a state
// and some of which do not, into a sum of products. The part that does not depend on a state can
// then be computed for all steps at once. Second, moves ops that read only values from outside to
// the end of the enclosing block.
void normalize_step(Block& step, const std::vector<const Value*>& states);

// Checks that no op of the step combines rows of different sequences; otherwise Error(usage) with
// the op, its line and a hint. `rows` are the dimensions that count rows in the step.
void require_rows_apart(const Block& step, const std::vector<Dim>& rows);
// Moves ops that read only values from outside to the end of the enclosing block. The dimensions of
// the block must be those of the enclosing block.
void move_out(Block& block);

}  // namespace trireme::ir
