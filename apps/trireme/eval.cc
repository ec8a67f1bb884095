// trireme eval: a saved model measured on a data set.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "sheet.h"
#include "support.h"
#include "trireme/error.h"
#include "trireme/job.h"
#include "trireme/metrics.h"

namespace {

namespace tr = trireme;

struct Arguments {
  std::string model;
  std::string data;
  std::int64_t batch = 256;
  std::int64_t limit = 0;
  int threads = 0;
  bool json = false;
  std::string sheet;
};

struct Totals {
  std::int64_t examples = 0;
  std::int64_t right = 0;
  double squared = 0;
  tr::Tensor confusion;
};

const tr::Tensor& target_of(const tr::Model& model, const tr::data::Batch& batch) {
  const auto column = batch.find(model.target());
  if (model.target().empty() || column == batch.end()) {
    throw tr::Error(tr::ErrorKind::data, model.target().empty()
                                             ? "the model does not say which column it predicts"
                                             : "the data have no column \"" + model.target() +
                                                   "\", which the model predicts");
  }
  return column->second;
}

void add_classes(const tr::Tensor& scores, const tr::Tensor& labels, Totals& totals) {
  const std::int64_t classes = scores.dim(1);
  if (totals.examples == 0) totals.confusion = tr::Tensor(tr::f32, {classes, classes});
  for (std::int64_t i = 0; i < labels.elements(); ++i) {
    const std::int64_t truth = labels.data<std::int64_t>()[i];
    const std::int64_t predicted = winner(scores.data<float>() + i * classes, classes);
    if (truth < 0 || truth >= classes) {
      throw tr::Error(tr::ErrorKind::data, "label " + std::to_string(truth) +
                                               " is out of range: the model knows " +
                                               std::to_string(classes) + " classes");
    }
    totals.confusion.data<float>()[truth * classes + predicted] += 1;
    if (truth == predicted) ++totals.right;
  }
}

void add_numbers(const tr::Tensor& predicted, const tr::Tensor& target, Totals& totals) {
  const tr::Tensor a = predicted.cast(tr::f64), b = target.cast(tr::f64);
  if (a.elements() != b.elements()) {
    throw tr::Error(tr::ErrorKind::data, "the model gives " + predicted.type_str() +
                                             ", but the target is " + target.type_str());
  }
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double difference = a.data<double>()[i] - b.data<double>()[i];
    sum += difference * difference;
  }
  if (a.elements() > 0) {
    totals.squared += sum / static_cast<double>(a.elements()) * static_cast<double>(a.dim(0));
  }
}

void draw_sheet(tr::Model& model, const tr::data::Dataset& dataset, const std::string& path) {
  const tr::data::Batch batch = dataset.rows(0, std::min(kSheetPictures, dataset.size()));
  const tr::data::Batch inputs = inputs_of(model, batch);
  if (inputs.size() != 1 || inputs.begin()->second.rank() != 4) {
    throw tr::Error(tr::ErrorKind::usage, "--sheet: this model takes no pictures");
  }
  save_sheet(path, model.name(), inputs.begin()->second, target_of(model, batch),
             model.predict(inputs).at(0), model.labels());
}

void eval(const Arguments& arguments) {
  tr::Model model = tr::load_model(arguments.model, {.threads = arguments.threads});
  tr::data::Dataset dataset = tr::open_data(arguments.data);
  if (arguments.limit > 0) dataset = dataset.take(std::min(arguments.limit, dataset.size()));
  Totals totals;
  bool classifies = false;
  const tr::data::Batches batches = dataset.batch(arguments.batch);
  for (tr::data::Batch& batch : batches.epoch(0)) {
    const tr::Tensor& target = target_of(model, batch);
    const tr::Tensor output = model.predict(inputs_of(model, batch)).at(0);
    // One score for an example answers yes or no, whatever dtype the answer has.
    classifies = target.dtype() == tr::i64 && output.rank() == 2 && output.dim(1) > 1;
    if (classifies) add_classes(output, target, totals);
    else add_numbers(output, target, totals);
    totals.examples += target.dim(0);
  }
  if (totals.examples == 0) throw tr::Error(tr::ErrorKind::data, "there are no examples");
  const auto n = static_cast<double>(totals.examples);
  const double result = classifies ? static_cast<double>(totals.right) / n : totals.squared / n;
  const char* name = classifies ? "accuracy" : "mse";
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"model", arguments.model},
                                         {"data", arguments.data},
                                         {"examples", totals.examples},
                                         {name, result}};
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  std::printf("%s: %.*f  (%lld examples)\n", name, classifies ? 4 : 6, result,
              static_cast<long long>(totals.examples));
  if (classifies) {
    if (!arguments.sheet.empty()) draw_sheet(model, dataset, arguments.sheet);
    std::printf("\nconfusion matrix: rows are true classes, columns predicted ones\n%s",
                tr::confusion_table(totals.confusion, model.labels()).c_str());
  }
}

}  // namespace

void add_eval(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("eval", "measure a saved model on a data set");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command->add_option("--data", arguments->data, "data set such as mnist/test, or a .csv file")
      ->required();
  command->add_option("--batch", arguments->batch, "examples at a time")
      ->check(CLI::PositiveNumber);
  command->add_option("--limit", arguments->limit, "only the first examples")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", arguments->threads, "default: all processors")
      ->check(CLI::PositiveNumber);
  command->add_option("--sheet", arguments->sheet, "PNG file for the first pictures");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments] { eval(*arguments); });
}
