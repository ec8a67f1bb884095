// The layers that a job may name, and how their keys become options of trireme/nn.h.

#include <fmt/core.h>

#include <functional>

#include "base/error.h"
#include "ir/program.h"
#include "session/job/line.h"
#include "session/job/model.h"
#include "trireme/attention.h"
#include "trireme/convolution.h"

namespace trireme::job {

constexpr std::int64_t kMostAxes = 8;
constexpr std::int64_t kMostBlocks = 200;  // of a Transformer: beyond is a slip of the pen

nn::Activation read_activation(Table& table, const nn::Activation& fallback) {
  const std::string name = table.text("activation", "");
  if (name.empty()) return fallback;
  if (nn::Activation found = nn::find_activation(name)) return found;
  const Node& node = *table.node("activation");
  fail_unknown({name, &node, &node}, "activation", nn::activation_names());
}

std::int64_t read_blocks(Table& table, std::int64_t fallback) {
  const std::int64_t layers = table.size("layers", fallback);
  if (layers > kMostBlocks) {
    fail_at(*table.node("layers"), fmt::format("must be at most {}", kMostBlocks));
  }
  return layers;
}

namespace {

nn::Pair read_pair(Table& table, const char* key, std::int64_t fallback) {
  const std::vector<std::int64_t> pair = table.sizes(key, {fallback, fallback}, 2);
  for (const std::int64_t size : pair) {
    if (size < 1) fail_at(*table.node(key), "must be at least 1");
  }
  return {pair[0], pair[1]};
}

std::int64_t read_axis(Table& table, std::int64_t fallback) {
  const std::int64_t axis = table.integer("axis", fallback, -kMostAxes);
  if (axis > kMostAxes) fail_at(*table.node("axis"), "the value has fewer axes");
  return axis;
}

// One number, a list of two (vertical, horizontal) or four (top, bottom, left, right), or a word.
nn::Padding read_padding(Table& table) {
  const Node* node = table.node("padding");
  if (node == nullptr) return {};
  if (node->kind == Node::Kind::text) {
    if (node->text == "same" || node->text == "valid") return nn::Padding(node->text);
    fail_at(*node, "must be \"same\", \"valid\" or integers, but is " + kind_text(*node));
  }
  const bool four = node->kind == Node::Kind::list && node->items.size() == 4;
  const std::vector<std::int64_t> sides = table.sizes("padding", {}, four ? 4 : 2);
  return four ? nn::Padding(sides[0], sides[1], sides[2], sides[3])
              : nn::Padding(sides[0], sides[1]);
}

Value linear(Table& table, Value x, std::int64_t classes) {
  nn::LinearOptions options;
  options.units = classes > 0 ? table.size("units", classes) : table.required_size("units");
  options.bias = table.boolean("bias", true);
  options.activation = read_activation(table);
  if (x.rank() == 4) x = nn::flatten(x);  // pictures become rows
  return nn::linear(x, options);
}

Value embedding(Table& table, Value x, std::int64_t ids) {
  nn::EmbeddingOptions options;
  if (ids == 0) table.required("rows");
  options.rows = table.integer("rows", ids, 1);
  options.width = table.required_size("width");
  options.sparse_gradient = table.boolean("sparse_gradient", false);
  if (table.has("deviation")) {
    const double deviation = table.number("deviation", 0);
    if (!(deviation >= 0)) fail_at(*table.node("deviation"), "must not be negative");
    options.weight_init = deviation > 0 ? nn::normal(0, deviation) : nn::zeros();
  }
  if (table.has("padding_row")) options.padding_row = table.integer("padding_row", 0);
  return nn::embedding(x, options);
}

// What all convolutions have but the window.
template <class Options>
void read_convolution(Table& table, Options& options) {
  options.channels = table.required_size("channels");
  options.groups = table.size("groups", 1);
  options.bias = table.boolean("bias", true);
  options.activation = read_activation(table);
}

template <class Options>
Options read_image_convolution(Table& table) {
  Options options;
  read_convolution(table, options);
  options.kernel = read_pair(table, "kernel", 3);
  options.stride = read_pair(table, "stride", 1);
  options.padding = read_padding(table);
  options.dilation = read_pair(table, "dilation", 1);
  return options;
}

// One number, a list of two (before, behind), or a word.
nn::Padding1d read_line_padding(Table& table) {
  const Node* node = table.node("padding");
  if (node == nullptr) return {};
  if (node->kind == Node::Kind::text) return read_padding(table).same ? "same" : "valid";
  const std::vector<std::int64_t> sides = table.sizes("padding", {}, 2);
  return {sides[0], sides[1]};
}

template <class Options>
Options read_line_convolution(Table& table) {
  Options options;
  read_convolution(table, options);
  options.kernel = table.size("kernel", 3);
  options.stride = table.size("stride", 1);
  options.padding = read_line_padding(table);
  options.dilation = table.size("dilation", 1);
  return options;
}

Value conv2d(Table& table, Value x) {
  return nn::conv2d(x, read_image_convolution<nn::Conv2dOptions>(table));
}

Value conv1d(Table& table, Value x) {
  return nn::conv1d(x, read_line_convolution<nn::Conv1dOptions>(table));
}

Value conv_transpose2d(Table& table, Value x) {
  auto options = read_image_convolution<nn::ConvTranspose2dOptions>(table);
  const std::vector<std::int64_t> more = table.sizes("output_padding", {0, 0}, 2);
  options.output_padding = {more[0], more[1]};
  return nn::conv_transpose2d(x, options);
}

Value conv_transpose1d(Table& table, Value x) {
  auto options = read_line_convolution<nn::ConvTranspose1dOptions>(table);
  options.output_padding = table.sizes("output_padding", {0}, 1)[0];
  return nn::conv_transpose1d(x, options);
}

Value im2sequence(Table& table, Value x) {
  nn::Im2SequenceOptions options;
  options.kernel = read_pair(table, "kernel", 1);
  if (table.has("stride")) options.stride = read_pair(table, "stride", 1);
  options.padding = read_padding(table);
  options.dilation = read_pair(table, "dilation", 1);
  return nn::im2sequence(x, options);
}

nn::PoolOptions read_pool(Table& table) {
  nn::PoolOptions options;
  options.kernel = read_pair(table, "kernel", 2);
  if (table.has("stride")) options.stride = read_pair(table, "stride", 1);
  options.padding = read_padding(table);
  return options;
}

Value avg_pool(Table& table, Value x) {
  nn::PoolOptions options = read_pool(table);
  options.count_padding = table.boolean("count_padding", true);
  return nn::avg_pool(x, options);
}

Value batch_norm(Table& table, Value x) {
  nn::BatchNormOptions options;
  options.momentum = table.number("momentum", options.momentum);
  options.epsilon = table.number("epsilon", options.epsilon);
  options.affine = table.boolean("affine", true);
  return nn::batch_norm(x, options);
}

Value layer_norm(Table& table, Value x) {
  nn::LayerNormOptions options;
  options.axes = static_cast<int>(table.size("axes", 1));
  options.epsilon = table.number("epsilon", options.epsilon);
  options.affine = table.boolean("affine", true);
  return nn::layer_norm(x, options);
}

Value group_norm(Table& table, Value x) {
  nn::GroupNormOptions options;
  options.groups = table.required_size("groups");
  options.epsilon = table.number("epsilon", options.epsilon);
  options.affine = table.boolean("affine", true);
  return nn::group_norm(x, options);
}

Value instance_norm(Table& table, Value x) {
  nn::InstanceNormOptions options;
  options.epsilon = table.number("epsilon", options.epsilon);
  options.affine = table.boolean("affine", false);
  return nn::instance_norm(x, options);
}

Value prelu(Table& table, Value x) {
  nn::PreluOptions options;
  options.per_channel = table.boolean("per_channel", false);
  options.slope = table.number("slope", options.slope);
  return nn::prelu(x, options);
}

Value maxout(Table& table, Value x) {
  const std::int64_t pieces = table.size("pieces", 2);
  return nn::maxout(x, {.pieces = pieces, .axis = static_cast<int>(read_axis(table, 1))});
}

Value learned_positions(Table& table, Value x) {
  const bool known = x.rank() == 3 && x.dim(1).is_constant() && x.dim(1).constant() > 0;
  const std::int64_t most =
      known && !table.has("most_steps") ? x.dim(1).constant() : table.required_size("most_steps");
  return nn::add_learned_positions(x, {.most_steps = most});
}

Value transformer_encoder(Table& table, Value x) {
  nn::TransformerOptions options;
  options.layers = read_blocks(table, options.layers);
  options.block.heads = table.required_size("heads");
  if (table.has("feed_forward")) options.block.feed_forward = table.size("feed_forward", 1);
  if (nn::Activation activation = read_activation(table)) options.block.activation = activation;
  options.block.dropout = table.number("dropout", options.block.dropout);
  options.block.pre_norm = table.boolean("pre_norm", true);
  options.block.causal = table.boolean("causal", false);
  return nn::transformer_encoder(x, options);
}

Value mean_along(Table& table, Value x) { return mean(x, {.axes = {read_axis(table, 1)}}); }

// By name; activations are layers too.
std::vector<std::pair<std::string, ApplyLayer>> known_layers(const Hints& hints) {
  std::vector<std::pair<std::string, ApplyLayer>> layers = {
      {"linear", [hints](Table& t, Value x) { return linear(t, x, hints.classes); }},
      {"embedding", [hints](Table& t, Value x) { return embedding(t, x, hints.ids); }},
      {"conv2d", conv2d},
      {"conv1d", conv1d},
      {"conv_transpose2d", conv_transpose2d},
      {"conv_transpose1d", conv_transpose1d},
      {"max_pool", [](Table& t, Value x) { return nn::max_pool(x, read_pool(t)); }},
      {"avg_pool", avg_pool},
      {"global_avg_pool", [](Table&, Value x) { return nn::global_avg_pool(x); }},
      {"global_max_pool", [](Table&, Value x) { return nn::global_max_pool(x); }},
      {"adaptive_avg_pool",
       [](Table& t, Value x) { return nn::adaptive_avg_pool(x, read_pair(t, "size", 1)); }},
      {"adaptive_max_pool",
       [](Table& t, Value x) { return nn::adaptive_max_pool(x, read_pair(t, "size", 1)); }},
      {"mean", mean_along},
      {"flatten", [](Table&, Value x) { return nn::flatten(x); }},
      {"batch_norm", batch_norm},
      {"layer_norm", layer_norm},
      {"group_norm", group_norm},
      {"instance_norm", instance_norm},
      {"prelu", prelu},
      {"maxout", maxout},
      {"im2sequence", im2sequence},
      {"sinusoidal_positions", [](Table&, Value x) { return nn::add_sinusoidal_positions(x); }},
      {"learned_positions", learned_positions},
      {"transformer_encoder", transformer_encoder},
      {"dropout",
       [](Table& t, Value x) { return nn::dropout(x, {.rate = t.number("rate", 0.5)}); }},
  };
  for (auto& layer : sequence_layers()) layers.push_back(std::move(layer));
  for (const std::string& name : nn::activation_names()) {
    layers.emplace_back(name, [name](Table&, Value x) {
      return nn::find_activation(name)(x, SourceLocation::current());
    });
  }
  return layers;
}

}  // namespace

Value apply_layer(const Node& node, Value x, const Hints& hints) {
  const Choice choice = read_choice(node, "a layer");
  const LineGuard line(*x.get()->program, node);
  std::vector<std::string> names;
  for (const auto& [name, apply] : known_layers(hints)) {
    names.push_back(name);
    if (name != choice.name) continue;
    Table table(*choice.options);
    ir::Program& program = *x.get()->program;
    const std::size_t first = program.parameters().size();
    const Value result = apply(table, x);
    if (const Node* settings = table.node("parameters")) {
      configure_new_parameters(program, first, *settings);
    }
    table.done();
    return result;
  }
  fail_unknown(choice, "layer", names);
}

Value apply_layers(const Node& list, Value x, const Hints& hints) {
  if (list.kind != Node::Kind::list) fail_at(list, "must be a list, but is " + kind_text(list));
  if (list.items.empty()) fail_at(list, "must have at least one layer");
  for (const Node& layer : list.items) {
    const bool last = &layer == &list.items.back();
    x = apply_layer(layer, x, {hints.ids, last ? hints.classes : 0});
  }
  return x;
}

}  // namespace trireme::job
