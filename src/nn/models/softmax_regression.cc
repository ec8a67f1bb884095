#include "nn/models/model.h"

namespace trireme::models {

Value softmax_regression(const Value& x, SoftmaxRegressionOptions options, SourceLocation where) {
  Model model(x, "softmax_regression", options.name, where);
  const Value logits = nn::linear(
      as_rows(x, where), {.units = options.classes, .weight_init = options.weight_init}, where);
  return model.finish(logits, options.decay_biases);
}

}  // namespace trireme::models
