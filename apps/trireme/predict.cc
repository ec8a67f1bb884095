// trireme predict: applies a saved model to images, texts or rows of a data set.

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands.h"
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

const tr::Shape& shape_of(const tr::Model& model, const std::string& input) {
  const auto port = std::find_if(model.inputs().begin(), model.inputs().end(),
                                 [&](const auto& candidate) { return candidate.name == input; });
  return port->shape;
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
  if (model.text().size() != 1 || columns != 1) {
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
  const tr::Shape& shape = shape_of(model, input);
  tr::data::Batch batch;
  if (shape.size() == 2) {
    batch[input] = last_tokens(ids, shape[1].constant(), examples.names);
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

Examples from_data(const tr::Model& model, const PredictArguments& arguments) {
  const tr::data::Dataset dataset = tr::open_data(arguments.data, model);
  const auto [begin, end] = read_rows(arguments.rows, dataset.size());
  const tr::data::Batch batch = dataset.rows(begin, end);
  Examples examples{{}, inputs_of(model, batch), rows_of_output(model, batch)};
  for (std::int64_t row = begin; row < end; ++row) examples.names.push_back(std::to_string(row));
  return examples;
}

}  // namespace

void predict(const PredictArguments& arguments) {
  const bool single = !arguments.files.empty() || !arguments.texts.empty();
  if (single == !arguments.data.empty()) {
    throw tr::Error(tr::ErrorKind::usage,
                    "predict: needs files, --text or --data\n"
                    "  hint   --data cannot be combined with files and --text");
  }
  tr::Model model = tr::load_model(arguments.model, {.threads = arguments.threads});
  if (tr::writes_texts(model)) return predict_texts(model, arguments);
  const bool texts = !model.text().empty() || !arguments.texts.empty();
  const Examples examples = !single ? from_data(model, arguments)
                            : texts ? from_texts(model, arguments)
                                    : from_images(model, arguments.files);
  print_predictions(model, examples, model.predict(examples.feeds).at(0), arguments);
}

}  // namespace commands
