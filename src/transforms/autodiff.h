#pragma once

#include <utility>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// Appends to the main block of `loss`'s Program the ops that compute the gradient of `loss` by each
// of `wanted` (parameters, inputs or results), in reverse mode: Griewank and Walther, "Evaluating
// Derivatives", 2nd ed., chapter 3. Contributions to shared values are summed; a value that does
// not influence the loss gets zeros of its shape; nothing is computed for values that lead to none
// of `wanted`. The new ops carry the layer and line of the op they differentiate.
// Errors (usage): loss is no float scalar (shape []), or a needed op has no gradient.
std::vector<ir::Value*> gradients(ir::Value* loss, const std::vector<ir::Value*>& wanted);

// The same within `block`, to which the ops are appended: of a sum whose gradients by some of the block's
// values are known, by each of `wanted`, arguments or results of ops; null where it does not depend on it.
std::vector<ir::Value*> gradients_in(ir::Block& block,
                                     const std::vector<std::pair<ir::Value*, ir::Value*>>& known,
                                     const std::vector<ir::Value*>& wanted);

// A gradient, of the type of what it belongs to or, row-sparse, as a list: values[i] is added to row
// rows[i], and all other rows are zero. A row may be named several times; negative numbers name none.
struct Gradient {
  ir::Value* values = nullptr;
  ir::Value* rows = nullptr;  // null: dense; else i64 [n], and values are [n, row...]
};

// The same, row-sparse for the parameters among `wanted` that only gathers with `sparse_gradient`
// read. One that is used otherwise too gets a dense gradient; several gathers join their lists.
std::vector<Gradient> gradients_by_rows(ir::Value* loss, const std::vector<ir::Value*>& wanted);

}  // namespace trireme::transforms
