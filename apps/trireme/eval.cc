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

void draw_sheet(tr::Model& model, const tr::data::Dataset& dataset, const std::string& path) {
  const tr::data::Batch batch = dataset.rows(0, std::min(kSheetPictures, dataset.size()));
  const tr::data::Batch inputs = inputs_of(model, batch);
  if (inputs.size() != 1 || inputs.begin()->second.rank() != 4) {
    throw tr::Error(tr::ErrorKind::usage, "--sheet: this model takes no pictures");
  }
  save_sheet(path, model.name(), inputs.begin()->second, batch.at(model.target()),
             model.predict(inputs).at(0), model.labels());
}

void eval(const Arguments& arguments) {
  tr::Model model = tr::load_model(arguments.model, {.threads = arguments.threads});
  tr::data::Dataset dataset = tr::open_data(arguments.data);
  if (arguments.limit > 0) dataset = dataset.take(std::min(arguments.limit, dataset.size()));
  const tr::Metrics metrics = tr::evaluate(model, dataset.batch(arguments.batch));
  if (metrics.examples() == 0) throw tr::Error(tr::ErrorKind::data, "there are no examples");
  if (arguments.json) {
    nlohmann::ordered_json json = {
        {"model", arguments.model}, {"data", arguments.data}, {"examples", metrics.examples()}};
    for (const auto& [name, value] : metrics.numbers()) json[name] = value;
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  print_measured(metrics, "", model.labels());
  if (!arguments.sheet.empty()) draw_sheet(model, dataset, arguments.sheet);
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
