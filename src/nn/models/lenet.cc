#include "nn/models/model.h"

namespace trireme::models {

Value lenet(const Value& x, LenetOptions options, SourceLocation where) {
  Model model(x, "lenet", options.name, where);
  const auto stage = [&](const Value& in, std::int64_t channels, std::int64_t padding) {
    const Value y = nn::conv2d(in,
                               {.channels = channels,
                                .kernel = 5,
                                .padding = padding,
                                .activation = options.activation,
                                .weight_init = options.weight_init},
                               where);
    return nn::max_pool(y, {.kernel = 2}, where);
  };
  const Value maps = stage(stage(x, 6, options.padding), 16, 0);
  const std::vector<std::int64_t> units = {120, 84};
  const Value features = hidden_layers(
      nn::flatten(maps, where),
      {.units = units, .activation = options.activation, .weight_init = options.weight_init},
      where);
  const Value logits =
      nn::linear(features, {.units = options.classes, .weight_init = options.weight_init}, where);
  return model.finish(logits, options.decay_biases);
}

}  // namespace trireme::models
