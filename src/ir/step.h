#pragma once

#include <vector>

#include "ir/program.h"

namespace trireme::ir {

// What is done to a step of a recurrent network when it has been built, before it becomes an op. Its first
// `memories` arguments are its memories.
// A product of a matrix that is joined, column by column, of what depends on a memory and what does not
// becomes a sum of products, so that a part of it can be computed for all steps at once. And what is made of
// values from outside alone moves to the end of the block around.
void normalise_step(Block& step, const std::vector<const Value*>& memories);

// Error(usage), naming op, line and what to do, where an op of the step combines rows of different sequences;
// `rows` are the sizes that count rows in it.
void require_rows_apart(const Block& step, const std::vector<Dim>& rows);
// Of a block whose dimensions are those of the block around: what is made of values from outside alone
// moves to the end of that.
void move_out(Block& block);

}  // namespace trireme::ir
