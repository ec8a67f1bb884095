// trireme predict: a saved model applied to pictures, texts or rows of a data set.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "support.h"
#include "trireme/error.h"
#include "trireme/image.h"
#include "trireme/job.h"
#include "trireme/saved_model.h"

namespace commands {
namespace {

namespace tr = trireme;

// What to predict for, and how each example is called in the answer.
struct Examples {
  std::vector<std::string> names;
  tr::data::Batch feeds;
};

// Files of text, an example each, and texts that were given themselves.
Examples from_texts(const tr::Model& model, const PredictArguments& arguments) {
  if (model.text().size() != 1 || model.inputs().size() != 2) {
    throw tr::Error(tr::ErrorKind::usage,
                    "this model takes no texts\n  hint   use --data with a data set");
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
  tr::RaggedTensor::from(ids).add_to(examples.feeds, input);
  return examples;
}

Examples from_images(const tr::Model& model, const std::vector<std::string>& paths) {
  if (model.preprocessing().size() != 1 || model.inputs().size() != 1) {
    throw tr::Error(tr::ErrorKind::usage,
                    "this model takes no pictures\n  hint   use --data with a data set");
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

std::int64_t row_number(const std::string& text, const std::string& rows) {
  try {
    std::size_t used = 0;
    const std::int64_t number = std::stoll(text, &used);
    if (used == text.size()) return number;
  } catch (const std::exception&) {
  }
  throw tr::Error(tr::ErrorKind::usage, "--rows " + rows + ": must look like 0:10 or 7");
}

Examples from_data(const tr::Model& model, const PredictArguments& arguments) {
  const tr::data::Dataset dataset = tr::open_data(arguments.data, model);
  const std::size_t colon = arguments.rows.find(':');
  const std::int64_t begin = row_number(arguments.rows.substr(0, colon), arguments.rows);
  std::int64_t end = begin + 1;
  if (colon != std::string::npos) {
    const std::string text = arguments.rows.substr(colon + 1);
    end =
        std::min(text.empty() ? dataset.size() : row_number(text, arguments.rows), dataset.size());
  }
  Examples examples{{}, inputs_of(model, dataset.rows(begin, end))};
  for (std::int64_t row = begin; row < end; ++row) examples.names.push_back(std::to_string(row));
  return examples;
}

// Indices of the k largest scores, best first.
std::vector<std::int64_t> best(const float* scores, std::int64_t classes, std::int64_t k) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(classes));
  for (std::int64_t i = 0; i < classes; ++i) order[static_cast<std::size_t>(i)] = i;
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  order.resize(static_cast<std::size_t>(std::min(k, classes)));
  return order;
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

void print_classes(const tr::Model& model, const Examples& examples, const tr::Tensor& scores,
                   const PredictArguments& arguments) {
  const std::int64_t classes = scores.dim(1);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < examples.names.size(); ++i) {
    const float* row = scores.data<float>() + static_cast<std::int64_t>(i) * classes;
    nlohmann::ordered_json predictions = nlohmann::ordered_json::array();
    std::vector<std::string> cells{examples.names[i]};
    for (const std::int64_t k : best(row, classes, arguments.top)) {
      const std::string label = class_name(model.labels(), k);
      predictions.push_back({{"class", k}, {"label", label}, {"score", row[k]}});
      cells.push_back(label);
      cells.push_back(number_text(row[k]));
    }
    json.push_back({{"example", examples.names[i]}, {"predictions", predictions}});
    rows.push_back(std::move(cells));
  }
  if (arguments.json) {
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  std::vector<std::string> headings{!arguments.data.empty() ? "row"
                                    : model.text().empty()  ? "image"
                                                            : "text"};
  for (std::size_t i = 1; !rows.empty() && i < rows[0].size(); i += 2) {
    headings.push_back(i == 1 ? "prediction" : std::to_string(i / 2 + 1) + ".");
    headings.push_back("score");
  }
  std::printf("%s", table(headings, rows).c_str());
}

void print_numbers(const tr::Model& model, const Examples& examples, const tr::Tensor& output,
                   bool json_wanted) {
  const tr::Tensor values = output.cast(tr::f64);
  const auto n = static_cast<std::int64_t>(examples.names.size());
  const std::int64_t width = n == 0 ? 0 : values.elements() / n;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    const double* row = values.data<double>() + i * width;
    std::string cell;
    for (std::int64_t j = 0; j < width; ++j) cell += (j > 0 ? " " : "") + number_text(row[j]);
    const std::string& name = examples.names[static_cast<std::size_t>(i)];
    rows.push_back({name, cell});
    json.push_back({{"example", name}, {"values", std::vector<double>(row, row + width)}});
  }
  if (json_wanted) std::printf("%s\n", json.dump(2).c_str());
  else std::printf("%s", table({"example", model.outputs().at(0).name}, rows).c_str());
}

}  // namespace

void predict(const PredictArguments& arguments) {
  const bool single = !arguments.files.empty() || !arguments.texts.empty();
  if (single == !arguments.data.empty()) {
    throw tr::Error(tr::ErrorKind::usage,
                    "predict: give files, or --text, or --data, one of these");
  }
  tr::Model model = tr::load_model(arguments.model, {.threads = arguments.threads});
  const bool texts = !model.text().empty() || !arguments.texts.empty();
  const Examples examples = !single ? from_data(model, arguments)
                            : texts ? from_texts(model, arguments)
                                    : from_images(model, arguments.files);
  const tr::Tensor output = model.predict(examples.feeds).at(0);
  // Scores of classes are what a model with names for its classes gives.
  const bool classes = output.rank() == 2 && output.dtype() == tr::f32 && output.dim(1) > 1 &&
                       (!model.labels().empty() || model.outputs().at(0).name == "scores");
  if (classes) print_classes(model, examples, output, arguments);
  else print_numbers(model, examples, output, arguments.json);
}

}  // namespace commands
