#include <array>
#include <string>

#include "nn/models/model.h"

namespace trireme::models {
namespace {

constexpr std::array<std::int64_t, 5> kChannels = {64, 128, 256, 512, 512};

// Returns the number of convolutions of each stage: table 1 of the paper.
std::array<int, 5> stages(Model& model, int depth) {
  switch (depth) {
    case 11: return {1, 1, 2, 2, 2};
    case 13: return {2, 2, 2, 2, 2};
    case 16: return {2, 2, 3, 3, 3};
    case 19: return {2, 2, 4, 4, 4};
    default: break;
  }
  model.require(false, "there is no VGG of depth " + std::to_string(depth),
                "depths are 11, 13, 16 and 19");
  return {};
}

Value convolution(const Value& x, std::int64_t channels, const VggOptions& options,
                  const SourceLocation& where) {
  if (options.batch_norm) {
    // The bias is redundant here, but the published parameter counts include it.
    const Value y = nn::conv2d(x,
                               {.channels = channels,
                                .padding = 1,
                                .weight_init = options.weight_init.value_or(nn::kaiming_normal())},
                               where);
    return nn::relu(nn::batch_norm(y, {}, where), where);
  }
  return nn::conv2d(x,
                    {.channels = channels,
                     .padding = 1,
                     .activation = nn::relu,
                     .weight_init = options.weight_init.value_or(nn::kaiming_normal())},
                    where);
}

// The names of torchvision: layers without parameters count, too.
void record_vgg_names(Model& model, const std::array<int, 5>& convolutions,
                      const VggOptions& options) {
  int layer = 0, feature = 0;
  for (const int count : convolutions) {
    for (int i = 0; i < count; ++i, ++layer) {
      const std::string number = std::to_string(layer);
      model.torch_module("conv2d_" + number, "features." + std::to_string(feature++));
      if (options.batch_norm) {
        model.torch_module("batch_norm_" + number, "features." + std::to_string(feature++));
      }
      ++feature;  // relu
    }
    ++feature;  // max_pool
  }
  for (std::size_t i = 0; i <= options.hidden.size(); ++i) {
    model.torch_module("linear_" + std::to_string(i), "classifier." + std::to_string(3 * i));
  }
}

}  // namespace

Value vgg(const Value& x, VggOptions options, SourceLocation where) {
  Model model(x, "vgg", options.name, where);
  const std::array<int, 5> convolutions = stages(model, options.depth);
  record_vgg_names(model, convolutions, options);
  Value y = x;
  for (std::size_t stage = 0; stage < convolutions.size(); ++stage) {
    const std::int64_t channels = scaled(model, kChannels[stage], options.width);
    for (int i = 0; i < convolutions[stage]; ++i) y = convolution(y, channels, options, where);
    y = nn::max_pool(y, {.kernel = 2}, where);
  }
  y = hidden_layers(
      nn::flatten(y, where),
      {.units = options.hidden, .dropout = options.dropout, .weight_init = options.weight_init},
      where);
  const Value logits =
      nn::linear(y, {.units = options.classes, .weight_init = options.weight_init}, where);
  return model.finish(logits, options.decay_biases);
}

}  // namespace trireme::models
