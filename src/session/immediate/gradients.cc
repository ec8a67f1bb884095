#include <utility>

#include "ir/program.h"
#include "session/immediate/trace.h"
#include "trireme/array.h"
#include "trireme/gradients.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

using immediate::recorder;

// A value of its own for an argument, so that what else is made of the same Array counts as
// constant. It is made of the argument's value, which an outer call may differentiate.
Array own(const Array& argument, bool outermost, SourceLocation where) {
  if (outermost && argument.is_computed()) return Array(argument.tensor());
  const Value value = argument.value();
  return Array(reshape(value, {.shape = value.shape()}, where));
}

}  // namespace

ValueAndGradients value_and_gradients(const ArrayFunction& f, const std::vector<Array>& arguments,
                                      SourceLocation where) {
  const bool outermost = !recorder().current().inlines();
  ValueAndGradients found;
  {
    const KeepRecording kept;
    std::vector<Array> own_arguments;
    for (const Array& argument : arguments)
      own_arguments.push_back(own(argument, outermost, where));
    const Array value = f(own_arguments);
    std::vector<Value> values;
    for (const Array& argument : own_arguments) values.push_back(argument.value());
    for (const Value& gradient : gradients(value.value(), values, where)) {
      found.gradients.emplace_back(gradient);
    }
    found.value = value;
  }
  // A loop of training steps is computed step by step.
  eval_all();
  return found;
}

}  // namespace trireme
