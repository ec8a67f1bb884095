// trireme eval: measures a saved model on a data set.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "sheet.h"
#include "support.h"
#include "trireme/error.h"
#include "trireme/job.h"
#include "trireme/metrics.h"
#include "written.h"

namespace commands {
namespace {

namespace tr = trireme;

void draw_sheet(tr::Model& model, const tr::data::Dataset& dataset, const std::string& path) {
  const tr::data::Batch batch = dataset.rows(0, std::min(kSheetPictures, dataset.size()));
  const tr::data::Batch inputs = inputs_of(model, batch);
  if (inputs.size() != 1 || inputs.begin()->second.rank() != 4) {
    throw tr::Error(tr::ErrorKind::usage, "--sheet: this model does not take images");
  }
  save_sheet(path, model.name(), inputs.begin()->second, batch.at(model.target()),
             model.predict(inputs).at(0), model.labels());
}

}  // namespace

void eval(const EvalArguments& arguments) {
  tr::Model model = tr::load_model(arguments.model, arguments.session);
  if (tr::writes_texts(model)) return eval_texts(model, arguments);
  tr::data::Dataset dataset = tr::open_data(arguments.data, model);
  if (arguments.limit > 0) dataset = dataset.take(std::min(arguments.limit, dataset.size()));
  const tr::Metrics metrics = tr::evaluate(model, dataset.batch(arguments.batch));
  if (metrics.examples() == 0) {
    throw tr::Error(tr::ErrorKind::data, arguments.data + ": the data set has no examples");
  }
  if (arguments.json) {
    nlohmann::ordered_json json = {
        {"model", arguments.model}, {"data", arguments.data}, {"examples", metrics.examples()}};
    for (const auto& [name, value] : metrics.numbers()) json[name] = value;
    std::printf("%s\n", json_text(json, 2).c_str());
    return;
  }
  print_measured(metrics, "", model.labels());
  if (!arguments.sheet.empty()) draw_sheet(model, dataset, arguments.sheet);
}

}  // namespace commands
