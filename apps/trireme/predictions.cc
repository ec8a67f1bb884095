#include "predictions.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "support.h"

namespace commands {
namespace {

namespace tr = trireme;
using Json = nlohmann::ordered_json;

// Indices of the k largest scores, largest first; NaN is below all others.
std::vector<std::int64_t> top_classes(const float* scores, std::int64_t classes, std::int64_t k) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(classes));
  for (std::int64_t i = 0; i < classes; ++i) order[static_cast<std::size_t>(i)] = i;
  const auto rank = [&](std::int64_t i) {
    const bool nan = std::isnan(scores[i]);
    return std::tuple(nan, nan ? 0.0f : -scores[i], i);
  };
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return rank(a) < rank(b); });
  order.resize(static_cast<std::size_t>(std::min(k, classes)));
  return order;
}

class Reader {
 public:
  Reader(const tr::Model& model, const Examples& examples, const tr::Tensor& output,
         const PredictArguments& arguments, int digits)
      : model_(model),
        examples_(examples),
        output_(output),
        arguments_(arguments),
        digits_(digits),
        example_heading_{!arguments.data.empty() ? "row"
                         : model.text().empty()  ? "image"
                                                 : "text"} {}

  // Takes the output for scores of classes only if the model has names for its classes.
  Predictions read() {
    check_rows();
    const bool named = !model_.labels().empty() || model_.outputs().at(0).name == "scores";
    const bool scores =
        output_.rank() == 2 && output_.dtype() == tr::f32 && output_.dim(1) > 1 && named;
    const bool labels = output_.dtype() == tr::i64 && output_.rank() == 1 && named;
    if (scores && (!examples_.rows || examples_.next)) read_classes();
    else if (scores || labels) read_labels();
    else read_numbers();
    return std::move(result_);
  }

 private:
  // A saved model may have an output of any shape.
  void check_rows() const {
    const auto examples = static_cast<std::int64_t>(examples_.names.size());
    const std::int64_t needed = examples_.rows ? examples_.rows->row_begin(examples) : examples;
    const std::int64_t found = output_.rank() == 0 ? 1 : output_.dim(0);
    if (found == needed && output_.rank() > 0) return;
    throw tr::Error(tr::ErrorKind::data,
                    "the output \"" + model_.outputs().at(0).name + "\" of the model has " +
                        std::to_string(found) + " rows, but predict needs one for each of " +
                        std::to_string(needed) + (examples_.rows ? " elements" : " examples") +
                        "\n  hint   save the model with an output that has a row for each");
  }

  std::string number_text(double number) const {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits_, number);
    return text;
  }

  void add(const std::string& example, const char* key, Json value,
           const std::vector<std::string>& cells) {
    result_.json.push_back({{"example", example}, {key, std::move(value)}});
    result_.rows.push_back({example});
    result_.rows.back().insert(result_.rows.back().end(), cells.begin(), cells.end());
  }

  // The output rows [begin, end) of example i.
  std::pair<std::int64_t, std::int64_t> rows_of(std::size_t i) const {
    const auto at = static_cast<std::int64_t>(i);
    if (!examples_.rows) return {at, at + 1};
    return {examples_.rows->row_begin(at), examples_.rows->row_begin(at + 1)};
  }

  Json classes_of(std::int64_t row) const {
    const std::int64_t classes = output_.dim(1);
    const float* scores = output_.data<float>() + row * classes;
    Json json = Json::array();
    for (const std::int64_t k : top_classes(scores, classes, arguments_.top)) {
      json.push_back(
          {{"class", k}, {"label", class_name(model_.labels(), k)}, {"score", scores[k]}});
    }
    return json;
  }

  void read_classes() {
    std::size_t max_classes = 0;
    for (std::size_t i = 0; i < examples_.names.size(); ++i) {
      const auto [begin, end] = rows_of(i);
      const Json classes = end > begin ? classes_of(end - 1) : Json::array();
      std::vector<std::string> cells;
      for (const Json& entry : classes) {
        cells.push_back(entry["label"].get<std::string>());
        cells.push_back(number_text(entry["score"].get<float>()));
      }
      max_classes = std::max(max_classes, classes.size());
      add(examples_.names[i], "predictions", classes, cells);
    }
    result_.headings = {example_heading_};
    for (std::size_t k = 1; k <= max_classes; ++k) {
      result_.headings.push_back(k == 1 ? "prediction" : std::to_string(k) + ".");
      result_.headings.emplace_back("score");
    }
  }

  // The label of each row; the table shows only the one with the largest score.
  void read_labels() {
    const bool scores = output_.rank() == 2;
    for (std::size_t i = 0; i < examples_.names.size(); ++i) {
      Json rows = Json::array();
      std::string line;
      const auto [begin, end] = rows_of(i);
      for (std::int64_t row = begin; row < end; ++row) {
        const Json prediction =
            scores ? classes_of(row)
                   : Json(class_name(model_.labels(), output_.data<std::int64_t>()[row]));
        const Json& label = scores ? prediction[0]["label"] : prediction;
        line += (row > begin ? " " : "") + label.get<std::string>();
        rows.push_back(prediction);
      }
      add(examples_.names[i], "predictions", std::move(rows), {line});
    }
    result_.headings = {example_heading_, "predictions"};
  }

  void read_numbers() {
    const tr::Tensor values = output_.cast(tr::f64);
    const std::int64_t width =
        output_.rank() == 0 || output_.dim(0) == 0 ? 0 : values.elements() / output_.dim(0);
    for (std::size_t i = 0; i < examples_.names.size(); ++i) {
      const auto [begin, end] = rows_of(i);
      const double* first = values.data<double>();
      const std::vector<double> numbers(first + begin * width, first + end * width);
      std::string cell;
      for (const double number : numbers) cell += (cell.empty() ? "" : " ") + number_text(number);
      add(examples_.names[i], "values", numbers, {cell});
    }
    result_.headings = {"example", model_.outputs().at(0).name};
  }

  const tr::Model& model_;
  const Examples& examples_;
  const tr::Tensor& output_;
  const PredictArguments& arguments_;
  int digits_;
  std::string example_heading_;
  Predictions result_;
};

}  // namespace

Predictions predictions_of(const tr::Model& model, const Examples& examples,
                           const tr::Tensor& output, const PredictArguments& arguments,
                           int digits) {
  return Reader(model, examples, output, arguments, digits).read();
}

void print(const Predictions& predictions, bool as_json) {
  if (as_json) std::printf("%s\n", json_text(predictions.json, 2).c_str());
  else std::printf("%s", table(predictions.headings, predictions.rows).c_str());
}

}  // namespace commands
