// [model] name: models of the bank on one column, rows of numbers or pictures.

#include <algorithm>

#include "base/error.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "trireme/models.h"

namespace trireme::job {

nn::Activation read_activation(Table& table, const nn::Activation& fallback) {
  nn::Activation activation = fallback;
  FieldReader reader(table);
  reader({"activation", ""}, activation);
  return activation;
}

std::int64_t read_blocks(Table& table, std::int64_t fallback) {
  std::int64_t layers = fallback;
  FieldReader reader(table);
  reader({"layers", "", {1, 200}}, layers);
  return layers;
}

namespace {

Value one(const std::vector<Feed>& feeds) { return feeds.front().value; }

// Keys that many models have.
template <class Options>
Options common(Table& table, std::int64_t classes) {
  Options options;
  options.classes = read_classes(table, classes);
  options.decay_biases = table.boolean("decay_biases", true);
  options.weight_init = read_weight_init(table);
  return options;
}

Value softmax_regression(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  const auto options = common<models::SoftmaxRegressionOptions>(table, classes);
  return models::softmax_regression(one(feeds), options);
}

Value mlp(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  auto options = common<models::MlpOptions>(table, classes);
  options.hidden = table.list_of_sizes("hidden", options.hidden);
  options.activation = read_activation(table, options.activation);
  options.dropout = table.number("dropout", options.dropout);
  return models::mlp(one(feeds), options);
}

Value lenet(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  auto options = common<models::LenetOptions>(table, classes);
  const std::vector<std::int64_t>& shape = feeds.front().column.shape;
  options.padding = table.sizes("padding", {shape.size() == 3 && shape[1] < 32 ? 2 : 0}, 1)[0];
  options.activation = read_activation(table, options.activation);
  return models::lenet(one(feeds), options);
}

Value vgg(int depth, Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  auto options = common<models::VggOptions>(table, classes);
  options.depth = depth;
  options.width = table.number("width", options.width);
  options.batch_norm = table.boolean("batch_norm", options.batch_norm);
  options.hidden = table.list_of_sizes("hidden", options.hidden);
  options.dropout = table.number("dropout", options.dropout);
  return models::vgg(one(feeds), options);
}

Value resnet(int depth, Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  auto options = common<models::ResnetOptions>(table, classes);
  options.depth = depth;
  options.width = table.number("width", options.width);
  options.shortcut = read_word<std::optional<models::Shortcut>>(
      table, "shortcut", options.shortcut,
      {{"pad", models::Shortcut::pad}, {"project", models::Shortcut::project}});
  if (depth == 18 || depth == 34 || depth == 50 || depth == 101 || depth == 152) {
    options.small_input = table.boolean("small_input", options.small_input);
    if (depth >= 50) options.stride_in_3x3 = table.boolean("stride_in_3x3", false);
  }
  return models::resnet(one(feeds), options);
}

Value mobilenet_v2(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  auto options = common<models::MobilenetV2Options>(table, classes);
  options.width = table.number("width", options.width);
  options.small_input = table.boolean("small_input", options.small_input);
  options.dropout = table.number("dropout", options.dropout);
  return models::mobilenet_v2(one(feeds), options);
}

// What depends on the column: ids, or steps of numbers, or a picture.
void read_steps(Table& table, const data::Column& column,
                models::TransformerEncoderOptions& options) {
  if (is_integer(column.dtype)) {
    if (column.shape.size() != 1) fail_at(table.self(), "ids must be sequences [steps]");
    if (column.ids == 0) table.required("rows");
    options.rows = table.integer("rows", column.ids, 1);
    options.sparse_gradient = table.boolean("sparse_gradient", false);
    if (table.has("padding_id")) options.padding_id = table.integer("padding_id", 0);
  } else if (column.shape.size() == 3) {
    const std::vector<std::int64_t> patch = table.sizes("patch", {1, column.shape[2]}, 2);
    options.patch = nn::Pair(patch[0], patch[1]);
  } else if (column.shape.size() != 2) {
    fail_at(table.self(), "column \"" + column.name +
                              "\" is no sequence: ids [steps], numbers [steps, width] or pictures");
  }
}

Value bank_transformer(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  using models::Pooling, models::Positions;
  auto options = common<models::TransformerEncoderOptions>(table, classes);
  read_steps(table, feeds.front().column, options);
  options.width = table.sizes("width", {options.width}, 1)[0];
  options.layers = read_blocks(table, options.layers);
  options.heads = table.size("heads", options.heads);
  if (table.has("feed_forward")) options.feed_forward = table.size("feed_forward", 1);
  options.activation = read_activation(table, options.activation);
  options.dropout = table.number("dropout", options.dropout);
  options.pre_norm = table.boolean("pre_norm", options.pre_norm);
  options.causal = table.boolean("causal", options.causal);
  options.positions = read_word<Positions>(table, "positions", options.positions,
                                           {{"none", Positions::none},
                                            {"sinusoidal", Positions::sinusoidal},
                                            {"learned", Positions::learned}});
  options.pooling = read_word<Pooling>(table, "pooling", options.pooling,
                                       {{"mean", Pooling::mean}, {"first", Pooling::first}});
  return models::transformer_encoder(one(feeds), options);
}

}  // namespace

std::int64_t read_classes(Table& table, std::int64_t known) {
  return known > 0 ? table.size("classes", known) : table.required_size("classes");
}

std::optional<Initializer> read_weight_init(Table& table) {
  const std::string name = table.text("weight_init", "");
  if (name.empty()) return std::nullopt;
  const std::pair<const char*, Initializer> known[] = {{"kaiming_normal", nn::kaiming_normal()},
                                                       {"kaiming_uniform", nn::kaiming_uniform()},
                                                       {"xavier_normal", nn::xavier_normal()},
                                                       {"xavier_uniform", nn::xavier_uniform()},
                                                       {"orthogonal", nn::orthogonal()}};
  std::vector<std::string> names;
  for (const auto& [known_name, initializer] : known) {
    if (name == known_name) return initializer;
    names.emplace_back(known_name);
  }
  const Node& node = *table.node("weight_init");
  fail_unknown({name, &node, &node}, "initializer", names);
}

std::vector<BankModel> picture_models() {
  std::vector<BankModel> models = {{"softmax_regression", false, softmax_regression},
                                   {"mlp", false, mlp},
                                   {"lenet", false, lenet}};
  const auto add = [&](const char* family, int depth, auto build) {
    models.push_back({family + std::to_string(depth), false,
                      [=](Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
                        return build(depth, table, feeds, classes);
                      }});
  };
  for (const int depth : {11, 13, 16, 19}) add("vgg", depth, vgg);
  for (const int depth : {20, 32, 44, 56, 110, 18, 34, 50, 101, 152}) add("resnet", depth, resnet);
  models.push_back({"mobilenet_v2", false, mobilenet_v2});
  models.push_back({"transformer_encoder", false, bank_transformer});
  return models;
}

BankModel find_model(const Node& name) {
  if (name.kind != Node::Kind::text) fail_at(name, "must be text, but is " + kind_text(name));
  std::vector<BankModel> models = picture_models();
  for (BankModel& model : column_models()) models.push_back(std::move(model));
  for (BankModel& model : word_models()) models.push_back(std::move(model));
  std::vector<std::string> names;
  for (const BankModel& model : models) {
    if (model.name == name.text) return model;
    names.push_back(model.name);
  }
  fail_unknown({name.text, &name, &name}, "model", names);
}

}  // namespace trireme::job
