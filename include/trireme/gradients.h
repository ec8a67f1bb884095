#pragma once

#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/source_location.h"

namespace trireme {

// Appends ops to the loss's Program that compute the gradients of a float scalar `loss`. `values`
// are inputs, parameters or results of ops, f32 or f64, of the same Program. Gradient i has the
// dtype and shape of values[i]. If the loss does not depend on a value, its gradient is zeros. If
// one value depends on another, both get their total derivatives.
//
// Gradients are values like all others: they can be fetched, used in a loss that minimize() gets,
// and differentiated again (a gradient penalty, second derivatives). Uses reverse mode: Griewank
// and Walther, "Evaluating Derivatives", 2nd ed., chapter 3. At kinks, such as relu at 0:
// docs/reference/numerics.md.
//
// If the Program has updates already, they stay its last ops: gradients always use the parameters
// as they are before the updates of a run.
// Errors: usage, if the loss is not a float scalar, a value is empty, of another Program, of an
// integer or 16-bit dtype or inside of a nested block, an op on the way has no gradient (the second
// derivative of max_pool and ctc), or the gradient needs the value of a parameter before an assign.
[[nodiscard]] TRIREME_API std::vector<Value> gradients(
    const Value& loss, const std::vector<Value>& values,
    SourceLocation where = SourceLocation::current());

}  // namespace trireme
