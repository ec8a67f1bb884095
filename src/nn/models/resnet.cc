#include <string>
#include <vector>

#include "nn/models/model.h"

namespace trireme::models {
namespace {

// Tables 1 and 6 of the paper.
struct Architecture {
  int depth;
  std::vector<int> blocks;  // per stage: three stages in small networks, four in large ones
  bool bottleneck;
};

const Architecture& find_architecture(Model& model, int depth) {
  static const std::vector<Architecture> kArchitectures = {
      {20, {3, 3, 3}, false},     {32, {5, 5, 5}, false},     {44, {7, 7, 7}, false},
      {56, {9, 9, 9}, false},     {110, {18, 18, 18}, false}, {18, {2, 2, 2, 2}, false},
      {34, {3, 4, 6, 3}, false},  {50, {3, 4, 6, 3}, true},   {101, {3, 4, 23, 3}, true},
      {152, {3, 8, 36, 3}, true},
  };
  for (const Architecture& candidate : kArchitectures) {
    if (candidate.depth == depth) return candidate;
  }
  model.require(
      false, "there is no ResNet of depth " + std::to_string(depth),
      "depths are 20, 32, 44, 56, 110 for small images and 18, 34, 50, 101, 152 for large ones");
  return kArchitectures[0];
}

// The paper's networks for large images have the names of torchvision.
void record_stem_names(Model& model) {
  model.torch_module("conv2d_0", "conv1");
  model.torch_module("batch_norm_0", "bn1");
  model.torch_module("linear_0", "fc");
}

void record_block_names(nn::Layer& block, int convolutions) {
  for (int i = 0; i <= convolutions; ++i) {
    const std::string number = std::to_string(i), next = std::to_string(i + 1);
    const bool is_shortcut = i == convolutions;
    block.torch_module("conv2d_" + number, is_shortcut ? "downsample.0" : "conv" + next);
    block.torch_module("batch_norm_" + number, is_shortcut ? "downsample.1" : "bn" + next);
  }
}

class Builder {
 public:
  Builder(const ResnetOptions& options, const Architecture& find_architecture,
          const SourceLocation& where)
      : options_(options), architecture_(find_architecture), where_(where) {
    const bool small = find_architecture.blocks.size() == 3;
    shortcut_ = options.shortcut.value_or(small ? Shortcut::pad : Shortcut::project);
  }

  Value stem(const Value& x, std::int64_t channels) const {
    const bool large = architecture_.blocks.size() == 4 && !options_.small_input;
    if (!large) return nn::relu(norm(x, {.channels = channels}), where_);
    const Value y = nn::relu(norm(x, {.channels = channels, .kernel = 7, .stride = 2}), where_);
    return nn::max_pool(y, {.kernel = 3, .stride = 2, .padding = 1}, where_);
  }

  // A block with `channels` inside. Bottlenecks output four times as many channels.
  Value block(const Value& x, std::int64_t channels, std::int64_t stride) const {
    nn::Layer layer(x, "block", "", where_);
    record_block_names(layer, architecture_.bottleneck ? 3 : 2);
    const Value y =
        architecture_.bottleneck ? bottleneck(x, channels, stride) : basic(x, channels, stride);
    return nn::relu(y + shortcut(x, y.dim(1).constant(), stride), where_);
  }

 private:
  Value norm(const Value& x, const ConvNorm& options) const {
    return conv_norm(x, options, options_.weight_init, where_);
  }

  Value basic(const Value& x, std::int64_t channels, std::int64_t stride) const {
    const Value y = nn::relu(norm(x, {.channels = channels, .stride = stride}), where_);
    return norm(y, {.channels = channels});
  }

  Value bottleneck(const Value& x, std::int64_t channels, std::int64_t stride) const {
    const std::int64_t first = options_.stride_in_3x3 ? 1 : stride;
    Value y = norm(x, {.channels = channels, .kernel = 1, .stride = first});
    y = norm(nn::relu(y, where_), {.channels = channels, .stride = stride / first});
    return norm(nn::relu(y, where_), {.channels = 4 * channels, .kernel = 1});
  }

  Value shortcut(const Value& x, std::int64_t channels, std::int64_t stride) const {
    const std::int64_t in = x.dim(1).constant();
    if (in == channels && stride == 1) return x;
    if (shortcut_ == Shortcut::project || in > channels) {
      return norm(x, {.channels = channels, .kernel = 1, .stride = stride});
    }
    const Value pixels = nn::max_pool(x, {.kernel = 1, .stride = stride}, where_);
    return pad(pixels, {.low = {0, 0, 0, 0}, .high = {0, channels - in, 0, 0}}, where_);
  }

  const ResnetOptions& options_;
  const Architecture& architecture_;
  const SourceLocation& where_;
  Shortcut shortcut_;
};

}  // namespace

Value resnet(const Value& x, ResnetOptions options, SourceLocation where) {
  Model model(x, "resnet", options.name, where);
  const Architecture& shape = find_architecture(model, options.depth);
  const Builder builder(options, shape, where);
  record_stem_names(model);
  std::int64_t channels = shape.blocks.size() == 3 ? 16 : 64;
  Value y = builder.stem(x, scaled(model, channels, options.width));
  int blocks = 0;
  for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage, channels *= 2) {
    const std::int64_t width = scaled(model, channels, options.width);
    for (int i = 0; i < shape.blocks[stage]; ++i) {
      model.torch_module("block_" + std::to_string(blocks++),
                         "layer" + std::to_string(stage + 1) + "." + std::to_string(i));
      y = builder.block(y, width, i == 0 && stage > 0 ? 2 : 1);
    }
  }
  const Value logits =
      nn::linear(nn::global_avg_pool(y, where),
                 {.units = options.classes, .weight_init = options.weight_init}, where);
  return model.finish(logits, options.decay_biases);
}

}  // namespace trireme::models
