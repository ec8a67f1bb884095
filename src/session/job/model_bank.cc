// [model] name: models of the bank on one column, rows of numbers or pictures.

#include <algorithm>

#include "base/error.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "session/job/model_tables.h"
#include "trireme/models.h"

namespace trireme::job {

namespace {

Value one(const std::vector<Feed>& feeds) { return feeds.front().value; }

// `known`: classes of the data, 0 if they do not say it.
template <class Options>
Options options_of(Table& table, std::int64_t known, Options options = {}) {
  options.classes = known;
  read_fields(table, options);
  return options;
}

Value softmax_regression(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  return models::softmax_regression(one(feeds),
                                    options_of<models::SoftmaxRegressionOptions>(table, classes));
}

Value mlp(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  return models::mlp(one(feeds), options_of<models::MlpOptions>(table, classes));
}

Value lenet(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  const std::vector<std::int64_t>& shape = feeds.front().column.shape;
  const bool small = shape.size() == 3 && shape[1] < 32;
  return models::lenet(one(feeds),
                       options_of(table, classes, models::LenetOptions{.padding = small ? 2 : 0}));
}

Value vgg(int depth, Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  return models::vgg(one(feeds), options_of(table, classes, models::VggOptions{.depth = depth}));
}

Value resnet(int depth, Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  return models::resnet(one(feeds),
                        options_of(table, classes, models::ResnetOptions{.depth = depth}));
}

Value mobilenet_v2(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  return models::mobilenet_v2(one(feeds), options_of<models::MobilenetV2Options>(table, classes));
}

// The keys depend on the column: ids, or steps of numbers, or a picture.
Value bank_transformer(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  const data::Column& column = feeds.front().column;
  models::TransformerEncoderOptions options;
  FieldReader reader(table);
  if (is_integer(column.dtype)) {
    if (column.shape.size() != 1) fail_at(table.self(), "ids must be sequences [steps]");
    options.rows = column.ids;
    models::id_fields(reader, options);
  } else if (column.shape.size() == 3) {
    options.patch = nn::Pair(1, column.shape[2]);
    models::patch_fields(reader, options);
  } else if (column.shape.size() != 2) {
    fail_at(table.self(), "column \"" + column.name +
                              "\" is no sequence: ids [steps], numbers [steps, width] or pictures");
  }
  options.classes = classes;
  models::block_fields(reader, options);
  return models::transformer_encoder(one(feeds), options);
}

}  // namespace

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
