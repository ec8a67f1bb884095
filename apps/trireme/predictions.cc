#include "predictions.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "support.h"

namespace commands {
namespace {

namespace tr = trireme;
using Json = nlohmann::ordered_json;

// Indices of the k largest scores, largest first.
std::vector<std::int64_t> top_classes(const float* scores, std::int64_t classes, std::int64_t k) {
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

// The prediction for each example, as JSON and as a row of a table.
struct Predictions {
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows;

  void add(const std::string& example, const char* key, Json value,
           const std::vector<std::string>& cells) {
    json.push_back({{"example", example}, {key, std::move(value)}});
    rows.push_back({example});
    rows.back().insert(rows.back().end(), cells.begin(), cells.end());
  }
  void print(const std::vector<std::string>& headings, bool as_json) const {
    if (as_json) std::printf("%s\n", json.dump(2).c_str());
    else std::printf("%s", table(headings, rows).c_str());
  }
};

class Printer {
 public:
  Printer(const tr::Model& model, const Examples& examples, const tr::Tensor& output,
          const PredictArguments& arguments)
      : model_(model),
        examples_(examples),
        output_(output),
        arguments_(arguments),
        example_heading_{!arguments.data.empty() ? "row"
                         : model.text().empty()  ? "image"
                                                 : "text"} {}

  // Takes the output for scores of classes only if the model has names for its classes.
  void print() const {
    const bool named = !model_.labels().empty() || model_.outputs().at(0).name == "scores";
    const bool scores =
        output_.rank() == 2 && output_.dtype() == tr::f32 && output_.dim(1) > 1 && named;
    const bool labels = output_.dtype() == tr::i64 && output_.rank() == 1 && named;
    if (scores && (!examples_.rows || examples_.next)) print_classes();
    else if (scores || labels) print_labels();
    else print_numbers();
  }

 private:
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

  void print_classes() const {
    Predictions predictions;
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
      predictions.add(examples_.names[i], "predictions", classes, cells);
    }
    std::vector<std::string> headings{example_heading_};
    for (std::size_t k = 1; k <= max_classes; ++k) {
      headings.push_back(k == 1 ? "prediction" : std::to_string(k) + ".");
      headings.emplace_back("score");
    }
    predictions.print(headings, arguments_.json);
  }

  // Prints the label of each row; the table shows only the one with the largest score.
  void print_labels() const {
    const bool scores = output_.rank() == 2;
    Predictions predictions;
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
      predictions.add(examples_.names[i], "predictions", std::move(rows), {line});
    }
    predictions.print({example_heading_, "predictions"}, arguments_.json);
  }

  void print_numbers() const {
    const tr::Tensor values = output_.cast(tr::f64);
    const std::int64_t width =
        output_.rank() == 0 || output_.dim(0) == 0 ? 0 : values.elements() / output_.dim(0);
    Predictions predictions;
    for (std::size_t i = 0; i < examples_.names.size(); ++i) {
      const auto [begin, end] = rows_of(i);
      const double* first = values.data<double>();
      const std::vector<double> numbers(first + begin * width, first + end * width);
      std::string cell;
      for (const double number : numbers) cell += (cell.empty() ? "" : " ") + number_text(number);
      predictions.add(examples_.names[i], "values", numbers, {cell});
    }
    predictions.print({"example", model_.outputs().at(0).name}, arguments_.json);
  }

  const tr::Model& model_;
  const Examples& examples_;
  const tr::Tensor& output_;
  const PredictArguments& arguments_;
  std::string example_heading_;
};

}  // namespace

void print_predictions(const tr::Model& model, const Examples& examples, const tr::Tensor& output,
                       const PredictArguments& arguments) {
  Printer(model, examples, output, arguments).print();
}

}  // namespace commands
