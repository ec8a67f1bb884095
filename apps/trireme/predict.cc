// trireme predict: applies a saved model to images, texts or rows of a data set.

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands.h"
#include "prediction_file.h"
#include "predictions.h"
#include "support.h"
#include "trireme/error.h"
#include "trireme/image.h"
#include "trireme/job.h"
#include "trireme/saved_model.h"
#include "written.h"

namespace commands {
namespace {

namespace tr = trireme;

// The input sequences, if the model's output has a row for each of their rows; nullopt if it has
// one row for each example.
std::optional<tr::RaggedTensor> rows_of_output(const tr::Model& model,
                                               const tr::data::Batch& batch) {
  const tr::Shape& shape = model.outputs().at(0).shape;
  for (const auto& input : model.inputs()) {
    if (tr::is_splits_name(input.name) || shape.empty()) continue;
    if (shape[0] != tr::Dim(input.name)) continue;
    if (tr::levels_in(batch, input.name) > 0) {
      return tr::RaggedTensor::from_feeds(batch, input.name);
    }
  }
  return std::nullopt;
}

// Whether the model predicts the next token after each token.
bool predicts_next_token(const tr::Model& model) {
  if (model.samples().empty()) return false;
  const auto next = nlohmann::json::parse(model.samples()).value("next", nlohmann::json(false));
  return next.is_boolean() && next.get<bool>();
}

// Null if the model has no such input.
const tr::Shape* shape_of(const tr::Model& model, const std::string& input) {
  const auto port = std::find_if(model.inputs().begin(), model.inputs().end(),
                                 [&](const auto& candidate) { return candidate.name == input; });
  return port == model.inputs().end() ? nullptr : &port->shape;
}

// The last n tokens of each text, for an n-gram model.
tr::Tensor last_tokens(const std::vector<std::vector<std::int64_t>>& texts, std::int64_t n,
                       const std::vector<std::string>& names) {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto count = static_cast<std::int64_t>(texts[i].size());
    if (count < n) {
      throw tr::Error(tr::ErrorKind::data, names[i] + ": the model needs " + std::to_string(n) +
                                               " tokens, but the text has " +
                                               std::to_string(count));
    }
    all.insert(all.end(), texts[i].end() - n, texts[i].end());
  }
  return tr::Tensor::from<std::int64_t>({static_cast<std::int64_t>(texts.size()), n}, all);
}

// Examples from text files, one per file, and from the texts of --text.
Examples from_texts(const tr::Model& model, const PredictArguments& arguments) {
  const auto columns =
      std::count_if(model.inputs().begin(), model.inputs().end(),
                    [](const auto& port) { return !tr::is_splits_name(port.name); });
  const tr::Shape* const shape =
      model.text().size() == 1 ? shape_of(model, model.text().begin()->first) : nullptr;
  if (shape == nullptr || columns != 1) {
    throw tr::Error(tr::ErrorKind::usage,
                    "this model does not take texts\n  hint   use --data with a data set");
  }
  const auto& [input, encoder] = *model.text().begin();
  Examples examples;
  std::vector<std::vector<std::int64_t>> ids;
  for (const std::string& path : arguments.files) {
    ids.push_back(encoder.encode(tr::text::read(path)));
    examples.names.push_back(path);
  }
  for (const std::string& text : arguments.texts) {
    ids.push_back(encoder.encode(text));
    examples.names.push_back(text);
  }
  tr::data::Batch batch;
  if (shape->size() == 2 && (*shape)[1].is_constant()) {
    batch[input] = last_tokens(ids, (*shape)[1].constant(), examples.names);
  } else {
    tr::RaggedTensor::from(ids).add_to(batch, input);
  }
  examples.feeds = inputs_of(model, batch);
  examples.rows = rows_of_output(model, batch);
  examples.next = examples.rows && predicts_next_token(model);
  for (std::size_t i = 0; examples.next && i < ids.size(); ++i) {
    if (ids[i].empty()) {
      throw tr::Error(tr::ErrorKind::data,
                      "\"" + examples.names[i] +
                          "\": cannot predict the next token, because the text is empty");
    }
  }
  return examples;
}

Examples from_images(const tr::Model& model, const std::vector<std::string>& paths) {
  if (model.preprocessing().size() != 1 || model.inputs().size() != 1) {
    throw tr::Error(tr::ErrorKind::usage,
                    "this model does not take images\n  hint   use --data with a data set");
  }
  const auto& [input, preprocessing] = *model.preprocessing().begin();
  const auto n = static_cast<std::int64_t>(paths.size());
  tr::Tensor joined(tr::f32,
                    {n, preprocessing.channels, preprocessing.height, preprocessing.width});
  std::byte* to = joined.bytes();
  for (const std::string& path : paths) {
    const tr::Tensor planes = tr::preprocess(tr::image::load(path), preprocessing);
    std::memcpy(to, planes.bytes(), planes.size_bytes());
    to += planes.size_bytes();
  }
  return {paths, {{input, joined}}};
}

Examples from_data(const tr::Model& model, const tr::data::Dataset& dataset, RowRange rows) {
  const tr::data::Batch batch = dataset.rows(rows.begin, rows.end);
  Examples examples{{}, inputs_of(model, batch), rows_of_output(model, batch)};
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    examples.names.push_back(std::to_string(row));
  }
  return examples;
}

// The files and texts of the command line, in batches.
class Given {
 public:
  Given(const tr::Model& model, const PredictArguments& arguments)
      : model_(model),
        arguments_(arguments),
        texts_(!model.text().empty() || !arguments.texts.empty()) {}

  std::int64_t size() const {
    return static_cast<std::int64_t>(arguments_.files.size() + arguments_.texts.size());
  }
  Examples read(RowRange rows) const {
    PredictArguments part;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (at < arguments_.files.size()) part.files.push_back(arguments_.files[at]);
      else part.texts.push_back(arguments_.texts[at - arguments_.files.size()]);
    }
    return texts_ ? from_texts(model_, part) : from_images(model_, part.files);
  }

 private:
  const tr::Model& model_;
  const PredictArguments& arguments_;
  bool texts_;
};

using ReadExamples = std::function<Examples(RowRange)>;

void predict_all(tr::Model& model, const ReadExamples& read, RowRange rows,
                 const PredictArguments& arguments) {
  const auto run = [&](RowRange part, int digits) {
    const Examples examples = read(part);
    const tr::Tensor output = model.predict(examples.feeds).at(0);
    return predictions_of(model, examples, output, arguments, digits);
  };
  if (arguments.output.empty()) return print(run(rows, 4), arguments.json);
  PredictionFile file(arguments.output, rows.end - rows.begin);
  for (std::int64_t at = rows.begin; at < rows.end; at += arguments.batch) {
    file.add(run({at, std::min(at + arguments.batch, rows.end)}, 9));
  }
  file.finish();
}

}  // namespace

RowRange rows_to_predict(const PredictArguments& arguments, std::int64_t count) {
  const char* usual = arguments.output.empty() ? "0:10" : "0:";
  const RowRange rows = read_rows(arguments.rows.empty() ? usual : arguments.rows, count);
  if (rows.begin >= 0 && rows.begin < rows.end && rows.end <= count) return rows;
  throw tr::Error(tr::ErrorKind::usage, "--rows: out of range; there are " + std::to_string(count) +
                                            " rows, numbered from 0");
}

void predict(const PredictArguments& arguments) {
  const bool single = !arguments.files.empty() || !arguments.texts.empty();
  if (single == !arguments.data.empty()) {
    throw tr::Error(tr::ErrorKind::usage,
                    "predict: needs files, --text or --data\n"
                    "  hint   --data cannot be combined with files and --text");
  }
  if (!arguments.output.empty()) PredictionFile::check_name(arguments.output);
  tr::Model model = tr::load_model(arguments.model, arguments.session);
  if (tr::writes_texts(model)) return predict_texts(model, arguments);
  if (single) {
    const Given given(model, arguments);
    return predict_all(
        model, [&](RowRange rows) { return given.read(rows); }, {0, given.size()}, arguments);
  }
  const tr::data::Dataset dataset = tr::open_inputs(arguments.data, model);
  predict_all(
      model, [&](RowRange rows) { return from_data(model, dataset, rows); },
      rows_to_predict(arguments, dataset.size()), arguments);
}

}  // namespace commands
