// The layers that a job may name, and how their keys become options of trireme/nn.h.

#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "ir/program.h"
#include "session/job_line.h"
#include "session/job_model.h"
#include "trireme/nn.h"

namespace trireme::job {

nn::Activation read_activation(Table& table, const nn::Activation& fallback) {
  const std::string name = table.text("activation", "");
  if (name.empty()) return fallback;
  if (nn::Activation found = nn::find_activation(name)) return found;
  const Node& node = *table.node("activation");
  fail_unknown({name, &node, &node}, "activation", nn::activation_names());
}

namespace {

nn::Pair read_pair(Table& table, const char* key, std::int64_t fallback) {
  const std::vector<std::int64_t> pair = table.sizes(key, {fallback, fallback}, 2);
  for (const std::int64_t size : pair) {
    if (size < 1) fail_at(*table.node(key), "must be at least 1");
  }
  return {pair[0], pair[1]};
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

Value linear(Table& table, Value x) {
  nn::LinearOptions options;
  options.units = table.required_size("units");
  options.bias = table.boolean("bias", true);
  options.activation = read_activation(table);
  if (x.rank() == 4) x = nn::flatten(x);  // pictures become rows
  return nn::linear(x, options);
}

Value conv2d(Table& table, Value x) {
  nn::Conv2dOptions options;
  options.channels = table.required_size("channels");
  options.kernel = read_pair(table, "kernel", 3);
  options.stride = read_pair(table, "stride", 1);
  options.padding = read_padding(table);
  options.dilation = read_pair(table, "dilation", 1);
  options.groups = table.size("groups", 1);
  options.bias = table.boolean("bias", true);
  options.activation = read_activation(table);
  return nn::conv2d(x, options);
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

using Apply = std::function<Value(Table&, Value)>;

// By name; activations are layers too.
std::vector<std::pair<std::string, Apply>> known_layers() {
  std::vector<std::pair<std::string, Apply>> layers = {
      {"linear", linear},
      {"conv2d", conv2d},
      {"max_pool", [](Table& t, Value x) { return nn::max_pool(x, read_pool(t)); }},
      {"avg_pool", avg_pool},
      {"global_avg_pool", [](Table&, Value x) { return nn::global_avg_pool(x); }},
      {"flatten", [](Table&, Value x) { return nn::flatten(x); }},
      {"batch_norm", batch_norm},
      {"layer_norm", layer_norm},
      {"dropout",
       [](Table& t, Value x) { return nn::dropout(x, {.rate = t.number("rate", 0.5)}); }},
  };
  for (const std::string& name : nn::activation_names()) {
    layers.emplace_back(name, [name](Table&, Value x) {
      return nn::find_activation(name)(x, SourceLocation::current());
    });
  }
  return layers;
}

}  // namespace

Value apply_layer(const Node& node, Value x) {
  const Choice choice = read_choice(node, "a layer");
  const LineGuard line(*x.get()->program, node);
  std::vector<std::string> names;
  for (const auto& [name, apply] : known_layers()) {
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

Value apply_layers(const Node& list, Value x) {
  if (list.kind != Node::Kind::list) fail_at(list, "must be a list, but is " + kind_text(list));
  if (list.items.empty()) fail_at(list, "must have at least one layer");
  for (const Node& layer : list.items) x = apply_layer(layer, x);
  return x;
}

}  // namespace trireme::job
