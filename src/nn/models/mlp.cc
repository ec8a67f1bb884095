#include "nn/models/model.h"

namespace trireme::models {

Value mlp(const Value& x, MlpOptions options, SourceLocation where) {
  Model model(x, "mlp", options.name, where);
  const Value features = hidden_layers(as_rows(x, where),
                                       {.units = options.hidden,
                                        .activation = options.activation,
                                        .dropout = options.dropout,
                                        .weight_init = options.weight_init},
                                       where);
  const Value logits =
      nn::linear(features, {.units = options.classes, .weight_init = options.weight_init}, where);
  return model.finish(logits, options.decay_biases);
}

}  // namespace trireme::models
