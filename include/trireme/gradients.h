#pragma once

// Gradients as values of the Program, for training loops of your own: gradient penalties, saliency
// maps, updates that no optimizer has. docs/how-to/own-training-loop.md has examples.

#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme {

// Appends the gradients of `loss`, a float scalar, with respect to each of `values`: inputs,
// parameters, or results in between. Each has the type of its value; zeros if the value does not
// influence the loss. A gradient is a value like any other, so that it can be part of a loss or be
// differentiated again. By reverse mode: Griewank and Walther, "Evaluating Derivatives", 2nd ed.,
// chapter 3.
// Errors: usage, if the loss is not a float scalar, a value is empty, of integers or of another
// Program, or an op on the way has no gradient.
TRIREME_API std::vector<Value> gradients(const Value& loss, const std::vector<Value>& values,
                                         SourceLocation where = SourceLocation::current());

}  // namespace trireme
