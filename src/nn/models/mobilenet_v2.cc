#include <algorithm>
#include <string>

#include "nn/models/model.h"

namespace trireme::models {
namespace {

// Table 2 of the paper.
struct Stage {
  std::int64_t expansion, channels;
  int blocks;
  std::int64_t stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

// Returns the nearest multiple of 8 that is at least 90% of `channels`, at least 8.
std::int64_t round_channels(std::int64_t channels) {
  const std::int64_t near = std::max<std::int64_t>((channels + 4) / 8 * 8, 8);
  return near * 10 < channels * 9 ? near + 8 : near;
}

struct Block {
  std::int64_t expansion, channels, stride;
};

// The names of torchvision, which has no module around the last convolution and its norm.
void record_residual_names(nn::Layer& block, int convolutions) {
  for (int i = 0; i < convolutions; ++i) {
    const bool is_last = i == convolutions - 1;
    const std::string number = std::to_string(i), module = "conv." + number;
    block.torch_module("conv2d_" + number, is_last ? module : module + ".0");
    block.torch_module("batch_norm_" + number,
                       is_last ? "conv." + std::to_string(i + 1) : module + ".1");
  }
}

void record_mobilenet_names(Model& model) {
  int feature = 0;
  const auto convolution = [&](const std::string& number) {
    const std::string module = "features." + std::to_string(feature++);
    model.torch_module("conv2d_" + number, module + ".0");
    model.torch_module("batch_norm_" + number, module + ".1");
  };
  convolution("0");
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.blocks; ++i, ++feature) {
      model.torch_module("block_" + std::to_string(feature - 1),
                         "features." + std::to_string(feature));
    }
  }
  convolution("1");
  model.torch_module("linear_0", "classifier.1");
}

// Expands with a kernel of 1, convolves each channel separately, and projects without activation.
Value inverted_residual(const Value& x, const Block& block, const std::optional<Initializer>& init,
                        const SourceLocation& where) {
  nn::Layer layer(x, "block", "", where);
  record_residual_names(layer, block.expansion != 1 ? 3 : 2);
  const std::int64_t in = x.dim(1).constant();
  const std::int64_t wide = in * block.expansion;
  Value y = x;
  if (block.expansion != 1) {
    y = nn::relu6(conv_norm(y, {.channels = wide, .kernel = 1}, init, where), where);
  }
  const ConvNorm depthwise{.channels = wide, .stride = block.stride, .groups = wide};
  y = nn::relu6(conv_norm(y, depthwise, init, where), where);
  y = conv_norm(y, {.channels = block.channels, .kernel = 1}, init, where);
  return block.stride == 1 && in == block.channels ? x + y : y;
}

}  // namespace

Value mobilenet_v2(const Value& x, MobilenetV2Options options, SourceLocation where) {
  Model model(x, "mobilenet_v2", options.name, where);
  record_mobilenet_names(model);
  const std::optional<Initializer>& init = options.weight_init;
  const auto channels = [&](std::int64_t base, double factor) {
    return round_channels(scaled(model, base, factor));
  };
  const ConvNorm stem{.channels = channels(32, options.width),
                      .stride = options.small_input ? 1 : 2};
  Value y = nn::relu6(conv_norm(x, stem, init, where), where);
  for (const Stage& stage : kStages) {
    const bool keeps_size = options.small_input && stage.channels == 24;
    for (int i = 0; i < stage.blocks; ++i) {
      const std::int64_t stride = i == 0 && !keeps_size ? stage.stride : 1;
      y = inverted_residual(y, {stage.expansion, channels(stage.channels, options.width), stride},
                            init, where);
    }
  }
  const ConvNorm last{.channels = channels(1280, std::max(options.width, 1.0)), .kernel = 1};
  y = nn::global_avg_pool(nn::relu6(conv_norm(y, last, init, where), where), where);
  if (options.dropout != 0) y = nn::dropout(y, {.rate = options.dropout}, where);
  const Value logits = nn::linear(y, {.units = options.classes, .weight_init = init}, where);
  return model.finish(logits, options.decay_biases);
}

}  // namespace trireme::models
