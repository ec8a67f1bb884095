#pragma once

#include <utility>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// Appends to the main block of `loss`'s Program the ops that compute the gradients of `loss` with
// respect to the values in `wanted` (parameters, inputs or results). Uses reverse mode: Griewank
// and Walther, "Evaluating Derivatives", 2nd ed., chapter 3. Contributions to shared values are
// summed. A value that does not influence the loss gets zeros of its shape. Values that no value in
// `wanted` influences cost nothing. The new ops have the layer and line of the op that they
// differentiate. Error(usage) if the loss is not a float scalar (shape []), if a needed op has no
// gradient, or if a gradient needs the value that a parameter had before it was assigned.
std::vector<ir::Value*> gradients(ir::Value* loss, const std::vector<ir::Value*>& wanted);

// The same within `block`, to which the ops are appended. `known` holds pairs of a value in the
// block and its gradient. Returns the gradients of `wanted`, which are arguments or results of ops,
// or null for values without influence.
std::vector<ir::Value*> gradients_in(ir::Block& block,
                                     const std::vector<std::pair<ir::Value*, ir::Value*>>& known,
                                     const std::vector<ir::Value*>& wanted);

// A gradient. It has the type of the differentiated value, or is row-sparse: values[i] is added to
// row rows[i], and all other rows are zero. A row may occur several times; negative rows are
// ignored.
struct Gradient {
  ir::Value* values = nullptr;
  ir::Value* rows = nullptr;  // null if dense; otherwise i64 [n], and values are [n, row...]
};

// The same, but row-sparse for parameters that are read only by gathers with `sparse_gradient`. A
// parameter with other uses gets a dense gradient. The rows of several gathers are concatenated.
std::vector<Gradient> gradients_by_rows(ir::Value* loss, const std::vector<ir::Value*>& wanted);

}  // namespace trireme::transforms
